import fc from "fast-check";
import { expect, test } from "vitest";
import { anyPlay, type Play, perform } from "../../tests/any-play.ts";
import { Loop } from "../../tests/builders.ts";
import { dispatchPlainly } from "../../tests/plain-dispatch.ts";
import { isDecision, type LedgerEvent } from "../ledger/index.ts";
import { candidateTable, taskKey } from "../placement/index.ts";
import { compareAccounts } from "../simulator/recount.ts";
import {
  apply,
  isEnded,
  isPlaced,
  type Run,
  restore,
  type Snapshot,
  type State,
  Status,
  stateHash,
  takeSnapshot,
  whyNotYet,
} from "./index.ts";

const SEED = { seed: 1, numRuns: 40 };

test("[P-18] [P-01] two schedulers decide the same, to the byte", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const [one, other] = [new Loop(story.config), new Loop(story.config)];
      perform(one, story);
      perform(other, story);
      expect(one.blocks.map(({ line }) => line)).toEqual(other.blocks.map(({ line }) => line));
      expect(stateHash(one.state)).toBe(stateHash(other.state));
    }),
    SEED,
  );
});

test("[P-18] the order in which workers register changes no decision", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const reversed = { ...story, workers: story.workers.toReversed() };
      expect(decisionsOf(reversed)).toEqual(decisionsOf(story));
    }),
    SEED,
  );
});

test("[P-18] [P-03] no limit of a worker is ever exceeded, and what it holds is what is placed on it", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const loop = new Loop(story.config);
      perform(loop, story, () => expect(limitViolations(loop.state)).toEqual([]));
    }),
    SEED,
  );
});

test("[P-04] [G-01] [D-01] a node is ready exactly when nothing but a worker is missing", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const loop = new Loop(story.config);
      perform(loop, story, () => {
        expect([...loop.state.runs.values()].flatMap(statusViolations)).toEqual([]);
      });
    }),
    SEED,
  );
});

test("[P-12] after a turn nothing that is ready has a worker that could take it", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const loop = new Loop(story.config);
      perform(loop, story, (_, now) => {
        for (const [run, node] of readyTasks(loop.state, now)) {
          const { executor, capabilities, cpuMillicores, memoryBytes, type } = run.graph.taskOf(node);
          const needs = { executor, zone: run.zone, capabilities, cpuMillicores, memoryBytes };
          const subject = { nodeId: "", type, zone: run.zone, cpuMillicores, locality: undefined };
          const rows = candidateTable(loop.state.fleet, needs, taskKey(run.number, node), subject);
          expect(rows.filter(({ rejection }) => rejection === undefined)).toEqual([]);
          expect(whyNotYet(loop.state, run, node).length).toBeGreaterThan(0);
        }
      });
    }),
    SEED,
  );
});

test("[P-06] [P-12] dispatch gives the same tasks to the same workers as the plain way does", () => {
  let assigned = 0;
  let reserved = 0;
  fc.assert(
    fc.property(anyPlay, (story) => {
      const loop = new Loop(story.config);
      let before = takeSnapshot(loop.state);
      perform(loop, story, ({ events, texts }, now) => {
        const at = events.findIndex(isOfDispatch);
        const plain = restore(copied(before));
        for (const event of at === -1 ? events : events.slice(0, at)) apply(plain, event, now);
        expect(at === -1 ? [] : texts.slice(at)).toEqual(dispatchPlainly(plain, now));
        assigned += events.filter(({ kind }) => kind === "TaskAssigned").length;
        reserved += events.filter(({ kind }) => kind === "ReservationMade").length;
        before = takeSnapshot(loop.state);
      });
    }),
    SEED,
  );
  expect(assigned).toBeGreaterThan(400);
  expect(reserved).toBeGreaterThan(15);
});

test("a run ends exactly once, when its last node has ended, and then nothing more is said of it", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const loop = new Loop({ ...story.config, keepEndedRuns: 100 });
      const ended = new Map<number, string>();
      perform(loop, story, ({ events }) => {
        for (const event of events) {
          if ("run" in event && event.kind !== "ReportRefused") expect(ended.has(event.run)).toBe(false);
          if (event.kind === "RunEnded") ended.set(event.run, event.outcome);
        }
        for (const run of loop.state.runs.values()) {
          expect(run.unfinished === 0).toBe(ended.has(run.number));
          expect(run.outcome).toBe(ended.get(run.number));
          if (run.outcome) expect(run.outcome).toBe(outcomeOf(run));
        }
      });
    }),
    SEED,
  );
});

test("a turn that records nothing changes nothing", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const loop = new Loop(story.config);
      let before = stateHash(loop.state);
      perform(loop, story, ({ events }) => {
        const after = stateHash(loop.state);
        expect(after === before).toBe(events.length === 0);
        before = after;
      });
    }),
    SEED,
  );
});

test("[P-05] what waits is counted as it changes", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const loop = new Loop(story.config);
      perform(loop, story, () => {
        const waiting = [...loop.state.runs.values()].flatMap((run) =>
          [...run.status].filter((status) => status <= Status.delayed),
        );
        expect(loop.state.backlog).toBe(waiting.length);
        expect(restore(takeSnapshot(loop.state)).backlog).toBe(waiting.length);
      });
    }),
    SEED,
  );
});

test("[F2] what work holds is counted as it changes, and never beyond what is allowed", () => {
  fc.assert(
    fc.property(
      anyPlay,
      fc.constantFrom(40_000, 80_000, 1e9),
      fc.constantFrom(500, 1000),
      (story, bytes, share) => {
        const loop = new Loop({ ...story.config, backlogBytes: bytes, zoneShare: share, agentShare: share });
        perform(loop, story, () => {
          const { accounts } = loop.state;
          compareAccounts(loop.state);
          const restored = restore(takeSnapshot(loop.state));
          compareAccounts(restored);
          expect(new Map(restored.accounts.byKey)).toEqual(new Map(accounts.byKey));
          expect(accounts.bytes).toBeLessThanOrEqual(bytes);
          for (const zone of accounts.zones.values())
            expect(zone.bytes).toBeLessThanOrEqual((bytes * share) / 1000);
          expect(accounts.endedBytes).toBeLessThanOrEqual(bytes / 4);
        });
        for (const run of loop.state.runs.values())
          if (run.outcome === undefined)
            loop.turn(1e6, { kind: "CancelRequested", run: run.number, node: -1 });
      },
    ),
    SEED,
  );
});

/** All decisions, with workers by id. */
function decisionsOf(story: Play): unknown[] {
  const loop = new Loop(story.config);
  const decisions: unknown[] = [];
  perform(loop, story, ({ events }) => {
    for (const event of events.filter(isDecision)) {
      const idOf = (number: number) => loop.state.fleet.workers[number]?.id;
      const worker = "worker" in event && typeof event.worker === "number" ? idOf(event.worker) : undefined;
      const runnerUp = "runnerUp" in event ? idOf(event.runnerUp) : undefined;
      decisions.push({ ...event, worker, runnerUp });
    }
  });
  return decisions;
}

function isOfDispatch({ kind }: LedgerEvent): boolean {
  return kind === "TaskAssigned" || kind === "ReservationMade";
}

function copied(snapshot: Snapshot): Snapshot {
  return JSON.parse(JSON.stringify(snapshot)) as Snapshot;
}

/** What is wrong with what workers hold, in words. */
function limitViolations(state: State): string[] {
  const placed = [...state.runs.values()].flatMap((run) =>
    [...run.status.keys()].filter((node) => isPlaced(run.statusOf(node))).map((node) => [run, node] as const),
  );
  return state.fleet.workers.flatMap((worker) => {
    const own = placed.filter(([run, node]) => run.worker[node] === worker.number);
    const tasks = own.map(([run, node]) => run.graph.taskOf(node));
    const keys = own.map(([run, node]) => taskKey(run.number, node));
    const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0);
    const { spec } = worker;
    const claims: readonly (readonly [string, boolean])[] = [
      ["holds what is placed on it", keys.every((key) => worker.held.has(key))],
      ["holds nothing else", keys.length === worker.held.size],
      [
        "has free what is not used",
        worker.freeCpu === spec.cpuMillicores - sum(tasks.map((t) => t.cpuMillicores)),
      ],
      ["has free memory", worker.freeMemory === spec.memoryBytes - sum(tasks.map((t) => t.memoryBytes))],
      ["has not less than nothing free", worker.freeCpu >= 0 && worker.freeMemory >= 0],
      ["keeps its queue", keys.length <= spec.slots + state.config.maxQueuePerWorker],
      ["serves their executors", tasks.every(({ executor }) => spec.executors.includes(executor))],
      ["serves their zones", own.every(([run]) => [spec.zone, ...spec.zones].includes(run.zone))],
      [
        "has their capabilities",
        tasks.every(({ capabilities }) => capabilities.every((one) => spec.capabilities.includes(one))),
      ],
      ["is reachable if it holds something", keys.length === 0 || worker.status !== "Unreachable"],
    ];
    return claims.filter(([, holds]) => !holds).map(([claim]) => `not true of ${worker.id}: ${claim}`);
  });
}

/** What is wrong with where the nodes of a run stand, in words. */
function statusViolations(run: Run): string[] {
  const { start, targets } = run.graph.dependencies;
  return [...run.status.keys()].flatMap((node) => {
    const status = run.statusOf(node);
    const { held, maxAttempts } = run.graph.taskOf(node);
    const needs = [...targets.subarray(start[node], start[node + 1])];
    const allDone = needs.every((need) => run.status[need] === Status.completed);
    const attempts = run.attempt[node] as number;
    const isReady = status === Status.ready || status === Status.delayed;
    const mayRun = !held && allDone && attempts < maxAttempts;
    const isOpen = !isEnded(status) && !isPlaced(status);
    const claims: readonly (readonly [string, boolean])[] = [
      ["has settled", status !== Status.settling && status !== Status.settlingCancel],
      ["has no attempt too many", attempts <= maxAttempts],
      ["runs only after what it needs", !isPlaced(status) || (allDone && !held)],
      ["is ready exactly if it may run", !isOpen || isReady === mayRun],
      ["waits for what is said", !isOpen || isReady || status === (held ? Status.held : Status.waiting)],
    ];
    const id = run.graph.idOf(node);
    return claims.filter(([, holds]) => !holds).map(([claim]) => `not true of ${id}: ${claim}`);
  });
}

function readyTasks(state: State, now: number): [Run, number][] {
  return [...state.runs.values()].flatMap((run) =>
    [...run.status.keys()]
      .filter((node) => {
        const isDue = run.status[node] === Status.delayed && (run.since[node] as number) <= now;
        return run.status[node] === Status.ready || isDue;
      })
      .map((node): [Run, number] => [run, node]),
  );
}

function outcomeOf(run: Run): string {
  if (run.cancelRequested) return "cancelled";
  return run.status.every((status) => status === Status.completed) ? "completed" : "failed";
}
