import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyPlay, perform } from "../../tests/any-play.ts";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { taskIdOf } from "../core/index.ts";
import { apply, type EventRecord, eventsOf, renderRecord, State } from "./index.ts";

const LEDGER_ID = "1".repeat(64);

/** The full records of everything that a loop has recorded. */
function recordsOf(loop: Loop): EventRecord[] {
  const state = new State();
  return loop.blocks.flatMap(eventsOf).map((recorded) => {
    const record = renderRecord(state, recorded, LEDGER_ID);
    apply(state, recorded.event, recorded.now);
    return record;
  });
}

function first(records: readonly EventRecord[], kind: EventRecord["kind"], nodeId?: string): EventRecord {
  const found = records.find((record) => record.kind === kind && (!nodeId || record.nodeId === nodeId));
  if (!found) throw new Error(`no ${kind}`);
  return found;
}

/** A story with a dependency, a failed attempt, a second one and the end of the run. */
function told(): { loop: Loop; records: EventRecord[] } {
  const loop = new Loop();
  const nodes = [
    aNode("make", { maxAttempts: 2, requestHash: "req-1", capabilities: ["gpu"], estimateMs: 9 }),
    aNode("use", { needs: ["make"], requestHash: "" }),
  ];
  loop.turn(
    10,
    joins("w", { capabilities: ["gpu", "net"] }),
    joins("v", { capabilities: ["gpu"], slots: 0 }),
  );
  loop.turn(20, submits("läuft", nodes));
  loop.turn(30, loop.failed("läuft", "make"));
  loop.turn(40, loop.finished("läuft", "make", 7, "res-1"));
  loop.turn(50, loop.finished("läuft", "use"));
  loop.turn(60, loop.finished("läuft", "use"), { kind: "WorkerLost", worker: 0, code: "left" });
  return { loop, records: recordsOf(loop) };
}

test("[P-02] an assignment's payload is the decision: task, node, worker, when and why", () => {
  const { records } = told();
  const assigned = first(records, "TaskAssigned");
  expect(assigned.payload).toEqual({
    taskId: taskIdOf("läuft", "make"),
    nodeId: "make",
    workerId: "w",
    assignedAt: assigned.logicalTime,
    attempt: 1,
    reasoning: { type: "OnlyWorkerAvailable", workerId: "w" },
    runnerUp: null,
    rejected: [0, 0, 0, 0, 0, 0, 1],
  });
});

describe("[P-13] every field of the record is filled where it applies:", () => {
  const { loop, records } = told();

  test("ids of the event, the run and the node", () => {
    expect(new Set(records.map(({ eventId }) => eventId)).size).toBe(records.length);
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const { eventId } of records) expect(eventId).toMatch(uuid);
    const named = records.map(({ kind, runId, nodeId }) => `${kind} ${runId} ${nodeId}`);
    expect(named.slice(0, 6)).toEqual([
      "SchedulerConfigured null null",
      "WorkerRegistered null null",
      "WorkerRegistered null null",
      "RunSubmitted läuft null",
      "TaskAssigned läuft make",
      "AttemptFailed läuft make",
    ]);
    expect(named).toContain("RunEnded läuft null");
  });

  test("the event id depends on the ledger", () => {
    const [recorded] = eventsOf(loop.blocks[0] ?? never());
    const other = renderRecord(new State(), recorded ?? never(), "2".repeat(64));
    expect(other.eventId).not.toBe(records[0]?.eventId);
  });

  test("the parent is the event that caused it", () => {
    const kindOf = (id: string | null) => {
      const at = records.findIndex(({ eventId }) => eventId === id);
      return at === -1 ? null : `${records[at]?.kind} ${records[at]?.nodeId ?? ""}`.trim();
    };
    const parents = records.map(({ kind, nodeId, parentEventId }) => [
      `${kind} ${nodeId ?? ""}`.trim(),
      kindOf(parentEventId),
    ]);
    expect(parents).toEqual([
      ["SchedulerConfigured", null],
      ["WorkerRegistered", null],
      ["WorkerRegistered", null],
      ["RunSubmitted", null],
      ["TaskAssigned make", "RunSubmitted"],
      ["AttemptFailed make", "TaskAssigned make"],
      ["TaskRetried make", "AttemptFailed make"],
      ["TaskAssigned make", "TaskRetried make"],
      ["AttemptFinished make", "TaskAssigned make"],
      ["TaskAssigned use", "AttemptFinished make"],
      ["AttemptFinished use", "TaskAssigned use"],
      ["RunEnded", "AttemptFinished use"],
      ["ReportRefused use", "AttemptFinished use"],
      ["WorkerLost", "WorkerRegistered"],
    ]);
  });

  test("[P-14] logical time grows strictly; the time on the clock is kept beside it", () => {
    expect(records.map(({ logicalTime }) => logicalTime)).toEqual(records.map((_, at) => at + 1));
    expect(records.map(({ time }) => time).slice(3, 7)).toEqual([20, 20, 30, 30]);
  });

  test("the payload's hash is that of its canonical JSON", () => {
    for (const { payload, payloadHash } of records) {
      expect(payloadHash).toBe(
        createHash("sha256")
          .update(canonicalize(payload) ?? "")
          .digest("hex"),
      );
    }
  });

  test("the hashes before and after are the chain's around the event's block", () => {
    for (const { logicalTime, priorStateHash, postStateHash } of records) {
      const block = loop.blocks.find(({ seq, count }) => logicalTime >= seq && logicalTime < seq + count);
      expect([priorStateHash, postStateHash]).toEqual([block?.prev, block?.hash]);
    }
  });

  test("what capabilities were required, held and missing at an assignment", () => {
    expect(first(records, "TaskAssigned", "make").capabilityCheckResult).toEqual({
      required: ["gpu"],
      held: ["gpu", "net"],
      missing: [],
    });
    expect(first(records, "RunSubmitted").capabilityCheckResult).toBeNull();
  });

  test("which rule decided, under which rules and configuration", () => {
    const rules = new Map(records.map(({ kind, policyDecisionId }) => [kind, policyDecisionId]));
    const version = /^(.*)@policy-5\+config-[0-9a-f]{12}$/;
    const ruleOf = (kind: EventRecord["kind"]) => version.exec(rules.get(kind) ?? "")?.[1];
    expect(ruleOf("TaskAssigned")).toBe("place/OnlyWorkerAvailable");
    expect(ruleOf("TaskRetried")).toBe("attempts/retry");
    expect(ruleOf("RunEnded")).toBe("run/end");
    expect(ruleOf("ReportRefused")).toBe("attempts/fence");
    expect(rules.get("AttemptFinished")).toBeNull();
    const reconfigured = new Loop({ seed: 5 });
    reconfigured.turn(1, joins("w", { capabilities: ["gpu"] }), submits("r", [aNode("x")]));
    const other = first(recordsOf(reconfigured), "TaskAssigned").policyDecisionId;
    expect(other).toMatch(version);
    expect(other).not.toBe(rules.get("TaskAssigned"));
  });

  test("the hashes of a task's request and result", () => {
    expect(first(records, "TaskAssigned", "make").toolRequestHash).toBe("req-1");
    expect(first(records, "TaskAssigned", "use").toolRequestHash).toBeNull();
    expect(first(records, "AttemptFinished", "make").toolResponseHash).toBe("res-1");
    expect(first(records, "AttemptFinished", "use").toolResponseHash).toBeNull();
  });

  test("what went wrong", () => {
    expect(first(records, "AttemptFailed").errorData).toEqual({ code: "exit", message: "exit code 1" });
    expect(first(records, "ReportRefused").errorData?.code).toBe("stale");
    expect(first(records, "AttemptFinished").errorData).toBeNull();
  });
});

test("[P-13] a parent is always an event that stands before, and a node's events name its run", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const loop = new Loop(story.config);
      perform(loop, story);
      const seen = new Set<string>();
      const wrong = recordsOf(loop).filter(({ eventId, parentEventId, nodeId, runId }) => {
        const hasParent = parentEventId === null || seen.has(parentEventId);
        seen.add(eventId);
        return !hasParent || (nodeId !== null && runId === null) || nodeId === undefined;
      });
      expect(wrong).toEqual([]);
    }),
    { seed: 1, numRuns: 25 },
  );
});

test("[P-13] a refused report about a node that does not exist names no node and no task", () => {
  const loop = new Loop();
  loop.turn(1, joins("w"), submits("r", [aNode("x")]));
  loop.turn(2, { ...loop.finished("r", "x"), node: 5 });
  const refused = first(recordsOf(loop), "ReportRefused");
  expect([refused.runId, refused.nodeId]).toEqual(["r", null]);
  expect(refused.payload).not.toHaveProperty("taskId");
});

function never(): never {
  throw new Error("there is a first block with a first event");
}
