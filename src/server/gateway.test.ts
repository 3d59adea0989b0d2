import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { aSubmission } from "../../tests/submissions.ts";
import type { Block } from "../ledger/index.ts";
import {
  type Assignment,
  assignmentOf,
  type GivenAssignment,
  type Registration,
  readGraphValue,
  type ServerMessage,
} from "../protocol/index.ts";
import { MemoryStore, type RowChanges } from "../store/index.ts";
import type { Caller, WorkerSession } from "./api.ts";
import { type OpenService, openService, type ServiceSettings } from "./open-service.ts";

/** A store whose commits can be held back. */
class HeldStore extends MemoryStore {
  #held: (() => void)[] | undefined;

  hold(): void {
    this.#held = [];
  }

  letGo(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) go();
  }

  override async commit(block: Block, rows?: RowChanges): Promise<boolean> {
    const held = this.#held;
    if (held) await new Promise<void>((resolve) => held.push(resolve));
    return await super.commit(block, rows);
  }
}

const open: OpenService[] = [];
afterEach(async () => {
  for (const service of open.splice(0)) await service[Symbol.asyncDispose]();
});

async function started(
  settings: Partial<ServiceSettings> = {},
  store: HeldStore = new HeldStore(),
): Promise<OpenService & { store: HeldStore }> {
  const failed = (error: Error) => {
    throw error;
  };
  const service = await openService({ store, settings, warn: () => {}, onFailed: failed });
  open.push(service);
  return Object.assign(service, { store });
}

function callerIn(zone: string, keyId = zone): Caller {
  return { keyId, zone, agent: "ann", scopes: new Set(["work", "submit", "read"]), isZoneAdmin: true };
}

function aRegistration(id: string, more: Partial<Registration> = {}): Registration {
  const resources = { cpu_millicores: 1000, memory_bytes: 0, slots: 4 };
  return {
    protocol: 1,
    id,
    session: `session of ${id}`,
    executors: ["e"],
    types: ["t"],
    ...resources,
    ...more,
  };
}

const SUBMISSION = aSubmission({ executor: "e", type: "t", maxAttempts: 5 });

async function submitted({ api }: OpenService, zone: string): Promise<string> {
  const [answer] = await api.submit(callerIn(zone), [SUBMISSION]);
  if (!answer?.accepted) throw new Error("it was refused");
  return answer.task.id;
}

const NOTHING = { attempts: [] };
const never = new AbortController().signal;

async function joined(
  { gateway }: OpenService,
  zone: string,
  registration: Registration,
  told?: ServerMessage[],
): Promise<WorkerSession> {
  const sink = told && {
    assign: (given: readonly GivenAssignment[]) =>
      void told.push({ type: "assign", assignments: given.map(assignmentOf) }),
    send: (message: ServerMessage) => void told.push(message),
    close: () => {},
  };
  const session = await gateway.register(callerIn(zone), registration, NOTHING, sink);
  if ("refused" in session) throw new Error(session.message);
  return session;
}

test("[Q-15] [Q-19] nobody reports an attempt that has not gone out to them, even while it is decided", async () => {
  const service = await started();
  const good = await joined(service, "a", aRegistration("good"), []);
  const evil = await joined(service, "b", aRegistration("evil"), []);
  const task = await submitted(service, "a");
  const of = { task, started_at: 1 };
  const foreign = [{ accepted: false, code: "unknown" }];
  expect(await evil.report([{ type: "finished", ...of, attempt: 1 }])).toEqual(foreign);
  service.store.hold();
  const failing = good.report([{ type: "failed", ...of, attempt: 1, code: "x", message: "" }]);
  await sleep(20);
  expect(await evil.report([{ type: "finished", ...of, attempt: 2, result: "forged" }])).toEqual(foreign);
  expect(await good.report([{ type: "finished", ...of, attempt: 2, result: "early" }])).toEqual(foreign);
  service.store.letGo();
  expect(await failing).toEqual([{ accepted: true }]);
  expect(await evil.report([{ type: "finished", ...of, attempt: 1 }])).toEqual(foreign);
  expect(await good.report([{ type: "finished", ...of, attempt: 2, result: "true" }])).toEqual([
    { accepted: true },
  ]);
  expect((await service.api.task(callerIn("a"), task))?.result).toBe('"true"');
});

test("[D-08] where a result is, a server that has just begun to lead hears from its worker: until then it is not lost", async () => {
  const before = await started();
  const maker = aRegistration("maker", { types: ["make"], data_url: "http://127.0.0.1:9" });
  const session = await joined(before, "a", maker);
  const nodes = { one: { task: "make", executor: "e", resources: { cpu: 0 }, keep: true } };
  const read = readGraphValue({ nodes }, "graph.json", {});
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  await before.api.submitRun(callerIn("a"), { id: "r", graph: read.graph, failFast: false });
  const { assignments } = await session.poll(NOTHING, 2000, never);
  const chunk = { bytes: 100_000, sha256: "0".repeat(64), kind: "bytes" } as const;
  for (const { task, attempt } of assignments)
    await session.report([{ type: "finished", task, attempt, started_at: 1, chunk }]);
  const resultAt = async (service: OpenService) =>
    (await service.api.nodeResult(callerIn("a"), "r", "one"))?.is;
  expect(await resultAt(before)).toBe("held");

  for (const service of open.splice(0)) await service[Symbol.asyncDispose]();
  const after = await started({}, before.store);
  expect(await resultAt(after)).toBe("away");
  const again = await joined(after, "a", maker);
  expect(await resultAt(after)).toBe("held");
  await again.leave();
  expect(await resultAt(after)).toBe("lost");
});

test("[Q-15] what a worker holds is shown to its own zone, and to no other that it serves", async () => {
  const service = await started();
  const caller = { ...callerIn("a"), scopes: new Set(["work", "admin", "operator"] as const) };
  const memory = { held: 1, spilled: 2, moved: 3, freed: 4 };
  const registration = aRegistration("w", { zones: ["b"] });
  await service.gateway.register(caller, registration, { ...NOTHING, memory }, undefined);
  const shown = async (zone: string) =>
    (await service.api.workers(callerIn(zone))).map(({ chunks }) => chunks);
  expect(await shown("a")).toEqual([memory]);
  expect(await shown("b")).toEqual([undefined]);
});

test("[P-08] a worker that comes back while its loss waits to be committed is taken in anew", async () => {
  const service = await started({ leaseMs: 2000 });
  await joined(service, "a", aRegistration("w"));
  service.store.hold();
  const waiting = submitted(service, "a");
  await sleep(3000);
  const back = joined(service, "a", aRegistration("w"));
  await sleep(100);
  service.store.letGo();
  await back;
  const [worker] = await service.api.workers(callerIn("a"));
  expect(worker?.status).not.toBe("Unreachable");
  await waiting;
  const session = await back;
  const { assignments } = await session.poll(NOTHING, 2000, never);
  expect(assignments).toHaveLength(1);
});

test("[Q-04] a cancel that a lost answer brought is brought again, and given up after the grace", async () => {
  const service = await started({ graceMs: 3500 });
  const session = await joined(service, "a", aRegistration("w"));
  const task = await submitted(service, "a");
  const { assignments } = await session.poll(NOTHING, 2000, never);
  const attempts = assignments.map(({ attempt }) => ({ task, attempt, started_at: Date.now() }));
  expect(await service.api.cancel(callerIn("a"), task)).toBe(true);
  expect((await session.poll({ attempts }, 2000, never)).cancel).toHaveLength(1);
  await sleep(2100);
  expect((await session.poll({ attempts }, 0, never)).cancel).toHaveLength(1);
  const ended = await service.api.waitForTask(callerIn("a"), task, 20_000, never);
  expect(ended?.status).toBe("cancelled");
});

test("a worker that polls keeps its id, and only its own key speaks for it", async () => {
  const service = await started();
  const { gateway } = service;
  const stop = new AbortController();
  const first = await joined(service, "a", aRegistration("w"));
  const polling = first.poll(NOTHING, 5000, stop.signal);
  const other = aRegistration("w", { session: "another session" });
  expect(await gateway.register(callerIn("a"), other, NOTHING, undefined)).toMatchObject({
    refused: "worker-taken",
  });
  expect(gateway.session(callerIn("b", "a"), "w", "session of w")).toBe(first);
  expect(gateway.session(callerIn("a", "another key"), "w", "session of w")).toBeUndefined();
  stop.abort();
  await polling;
  expect(await gateway.register(callerIn("a"), other, NOTHING, undefined)).not.toHaveProperty("refused");
});

test("[P-08] a worker whose connection broke gets nothing new until it is back", async () => {
  const service = await started();
  const told: ServerMessage[] = [];
  const session = await joined(service, "a", aRegistration("w"), told);
  session.disconnected();
  expect((await service.api.workers(callerIn("a")))[0]?.status).toBe("Away");
  const task = await submitted(service, "a");
  expect((await service.api.task(callerIn("a"), task))?.status).toBe("queued");
  await joined(service, "a", aRegistration("w"), told);
  for (let tries = 0; tries < 500 && !told.some(({ type }) => type === "assign"); tries++) await sleep(10);
  expect((await service.api.task(callerIn("a"), task))?.status).toBe("running");
  expect(told.filter(({ type }) => type === "assign")).toHaveLength(1);
});

test("[P-08] a worker that another process has taken the place of, under the same id, is not away for good", async () => {
  const service = await started();
  const session = await joined(service, "a", aRegistration("w"), []);
  session.disconnected();
  expect((await service.api.workers(callerIn("a")))[0]?.status).toBe("Away");
  await joined(service, "a", aRegistration("w", { session: "of another process" }), []);
  expect((await service.api.workers(callerIn("a")))[0]?.status).toBe("Idle");
});

test("[D-09] a worker from which a result could not be got is told to free it, and not before", async () => {
  const service = await started();
  const told: ServerMessage[] = [];
  const maker = await joined(service, "a", aRegistration("maker", { types: ["make"] }), told);
  const taker = await joined(service, "a", aRegistration("taker", { types: ["take"] }), told);
  const node = (task: string) => ({ task, executor: "e", resources: { cpu: 0 } });
  const nodes = { a: node("make"), b: { ...node("take"), args: [{ node: "a" }], keep: true } };
  const read = readGraphValue({ nodes }, "graph.json", {});
  if (!read.ok) throw new Error(JSON.stringify(read));
  await service.api.submitRun(callerIn("a"), { id: undefined, graph: read.graph, failFast: false });
  const given = async (at: number) => {
    const all = () => told.flatMap((message) => (message.type === "assign" ? message.assignments : []));
    await expect.poll(() => all().length).toBeGreaterThan(at);
    return all()[at] as Assignment;
  };
  const { task: made } = await given(0);
  const chunk = { bytes: 100_000, sha256: "0".repeat(64), kind: "bytes" } as const;
  await maker.report([{ type: "finished", task: made, attempt: 1, started_at: 1, chunk }]);
  const { task } = await given(1);
  const freed = () => told.flatMap((message) => (message.type === "free" ? message.chunks : []));
  expect(freed()).toEqual([]);
  const missing = [{ chunk: `${made}:1`, worker: "maker" }];
  const of = { task, attempt: 1, started_at: -1, code: "input-missing", message: "" };
  await taker.report([{ type: "failed", ...of, missing }]);
  await expect.poll(freed).toEqual([`${made}:1`]);
});
