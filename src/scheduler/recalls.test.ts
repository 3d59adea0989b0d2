import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, STRATEGIES, submits, type Told } from "../../tests/builders.ts";
import { DataPlay, MIB } from "../../tests/data-play.ts";
import type { AttemptLost, TaskRecalled } from "../ledger/index.ts";
import { nextWakeAt, Redecider, restore, stateHash, takeSnapshot } from "./index.ts";

const gives = { givesBack: true, cpuMillicores: 100_000, memoryBytes: 100_000 } as const;
const TEN = Array.from({ length: 10 }, (_, at) => aNode(`n${at}`));

function recalls({ events }: Told): TaskRecalled[] {
  return events.filter((event) => event.kind === "TaskRecalled");
}

function returned({ run, node, attempt }: TaskRecalled): AttemptLost {
  return { kind: "AttemptLost", run, node, attempt, startedAt: -1 };
}

function assignments({ texts }: Told): string[] {
  return texts.filter((text) => text.startsWith("TaskAssigned"));
}

/** A worker with ten tasks, and another that has none. */
function unbalanced(config: ConstructorParameters<typeof Loop>[0] = {}, spec: object = gives): Loop {
  const loop = new Loop({ maxQueuePerWorker: 32, ...config });
  loop.turn(1, joins("a", spec), submits("r", TEN));
  loop.turn(2, joins("b", spec));
  return loop;
}

test("an idle worker gets up to half of what waits elsewhere, once nothing has ended there for longer than the change costs", () => {
  const loop = unbalanced();
  expect(nextWakeAt(loop.state)).toBe(102);
  expect(loop.turn(101).events).toEqual([]);
  const asked = recalls(loop.turn(102));
  expect(asked.map(({ node, waitMicros }) => [node, waitMicros])).toEqual(
    [9, 8, 7, 6, 5].map((node) => [node, 101_000]),
  );
  expect(asked[0]).toMatchObject({ worker: 0, idle: 1, queueMicros: 0, moveMicros: 0, attempt: 1 });
  expect(assignments(loop.turn(104, ...asked.map(returned)))).toEqual(
    [5, 6, 7, 8, 9].map((node) => `TaskAssigned n${node}#2 b`),
  );
  expect(loop.run("r").uncountedOf(9)).toBe(1);
});

test("nothing moves while the other has something to do, or what waits begins soon", () => {
  const loop = new Loop({ maxQueuePerWorker: 32 });
  loop.turn(1, joins("a", gives), joins("b", gives), submits("r", TEN));
  expect(recalls(loop.turn(10_000))).toEqual([]);
  const steady = unbalanced();
  for (let at = 0; at < 9; at++) {
    expect(recalls(steady.turn(11 + 10 * at, steady.finished("r", `n${at}`)))).toEqual([]);
  }
});

test("what ends steadily moves when the queue is long: each that would begin sooner by more than it costs", () => {
  const loop = unbalanced();
  // One every 40 ms: the last would wait for 200 ms, and the one before it for 160, or for 40 behind the last.
  for (let at = 0; at < 3; at++) loop.turn(41 + 40 * at, loop.finished("r", `n${at}`));
  const asked = recalls(loop.turn(161, loop.finished("r", "n3")));
  expect(asked.map(({ node, waitMicros, queueMicros }) => [node, waitMicros, queueMicros])).toEqual([
    [9, 200_000, 0],
    [8, 160_000, 40_000],
  ]);
});

test("only workers that say so are asked, and only those that serve a task stand idle for it", () => {
  const { givesBack: _, ...keeps } = gives;
  expect(recalls(unbalanced({}, keeps).turn(5_000))).toEqual([]);
  const loop = new Loop({ maxQueuePerWorker: 32 });
  loop.turn(1, joins("a", gives), submits("r", TEN));
  loop.turn(2, joins("b", { ...gives, executors: ["other"] }));
  expect(nextWakeAt(loop.state, 5_000)).toBeUndefined();
  expect(recalls(loop.turn(5_000))).toEqual([]);
});

test("a worker that has begun what it was asked for keeps it, and is asked for others when it has answered for all", () => {
  const loop = unbalanced();
  const asked = recalls(loop.turn(200));
  const [first, ...rest] = asked as [TaskRecalled, ...TaskRecalled[]];
  const { run, node, attempt } = first;
  loop.turn(201, { kind: "AttemptStarted", run, node, attempt, startedAt: 200 });
  expect(loop.status("r", "n9")).toBe("running");
  expect(recalls(loop.turn(5_000))).toEqual([]);
  const told = loop.turn(
    5_001,
    ...rest.map((one) => ({ ...returned(one), kind: "AttemptStarted", startedAt: 5_000 }) as const),
  );
  expect(recalls(told).map((one) => one.node)).toEqual([4, 3, 2, 1]);
});

test("a worker that does not answer keeps nobody from asking another after a second", () => {
  const loop = new Loop({ maxQueuePerWorker: 4 });
  const nodes = Array.from({ length: 9 }, (_, at) => aNode(`n${at}`));
  loop.turn(1, joins("a", gives), joins("b", gives), submits("r", nodes));
  loop.turn(2, joins("c", gives));
  const first = recalls(loop.turn(500));
  expect(new Set(first.map(({ worker }) => worker))).toEqual(new Set([0]));
  expect(recalls(loop.turn(501))).toEqual([]);
  expect(nextWakeAt(loop.state)).toBe(1_500);
  expect(new Set(recalls(loop.turn(1_500)).map(({ worker }) => worker))).toEqual(new Set([1]));
  // What it was asked for ends there as if nobody had asked.
  for (let at = 0; at < 9; at++) loop.turn(2_000 + at, loop.finished("r", `n${at}`));
  expect(loop.run("r").outcome).toBe("completed");
  expect(loop.state.fleet.recalls.size).toBe(0);
});

test.each(STRATEGIES)(
  "what came back goes to another by %s, and to the same where nobody else takes it",
  (strategy) => {
    const loop = unbalanced({ strategy });
    const asked = recalls(loop.turn(200));
    const [first, second] = asked as [TaskRecalled, TaskRecalled];
    expect(assignments(loop.turn(201, returned(first)))).toEqual(["TaskAssigned n9#2 b"]);
    const told = loop.turn(202, { kind: "WorkerLost", worker: 1, code: "lease" }, returned(second));
    expect(assignments(told)).toContain("TaskAssigned n8#2 a");
  },
);

test("a task that is cancelled while it is asked for ends, given back or not", () => {
  const loop = unbalanced();
  const [first, second] = recalls(loop.turn(200)) as [TaskRecalled, TaskRecalled];
  loop.turn(
    201,
    { kind: "CancelRequested", run: 0, node: first.node },
    { kind: "CancelRequested", run: 0, node: second.node },
  );
  loop.turn(202, returned(first));
  loop.turn(203, { ...returned(second), kind: "AttemptCancelled" });
  expect([loop.status("r", "n9"), loop.status("r", "n8")]).toEqual(["cancelled", "cancelled"]);
  expect(loop.state.fleet.recalls.has(9)).toBe(false);
  expect(loop.state.fleet.returned.size).toBe(0);
});

test("an answer that comes twice, or after the worker was lost, is refused", () => {
  const loop = unbalanced();
  const [first, second] = recalls(loop.turn(200)) as [TaskRecalled, TaskRecalled];
  loop.turn(201, returned(first));
  expect(loop.turn(202, returned(first)).texts).toEqual(["ReportRefused n9#1"]);
  loop.turn(203, { kind: "WorkerLost", worker: 0, code: "lease" });
  expect(loop.turn(204, returned(second)).texts).toEqual(["ReportRefused n8#1"]);
  expect(loop.state.fleet.recalls.size).toBe(0);
});

test("what has come back eight times stays where it is", () => {
  const loop = unbalanced();
  loop.turn(60, joins("b", gives));
  const run = loop.run("r");
  for (let time = 0; time < 8; time++) run.excuse(9);
  expect(recalls(loop.turn(500)).map(({ node }) => node)).toEqual([8, 7, 6, 5, 4]);
});

describe("what would lose by it is not asked for:", () => {
  test("what counts towards limits, and what is paused", () => {
    const loop = new Loop({ maxQueuePerWorker: 32 });
    const nodes = [...TEN.slice(0, 8), aNode("n8", { limits: ["l"] }), aNode("n9", { executor: "x" })];
    loop.turn(1, joins("a", { ...gives, executors: ["shell", "x"] }), submits("r", nodes));
    loop.turn(2, joins("b", { ...gives, executors: ["shell", "x"] }));
    loop.turn(3, { kind: "QueuePaused", zone: "here", executor: "x" });
    expect(recalls(loop.turn(500)).map(({ node }) => node)).toEqual([7, 6, 5, 4, 3]);
  });

  test("more than the idle worker has room for", () => {
    const loop = new Loop({ maxQueuePerWorker: 32 });
    loop.turn(1, joins("a", gives), submits("r", TEN));
    loop.turn(2, joins("b", { ...gives, cpuMillicores: 250 }));
    expect(recalls(loop.turn(500)).map(({ node }) => node)).toEqual([9, 8]);
  });
});

describe("[D-05] with data", () => {
  /** Ten nodes on one worker, each with an input of so many MiB there. */
  function withData(bytes: number): Loop {
    const loop = new Loop({ maxQueuePerWorker: 32 });
    const reads = Array.from({ length: 10 }, (_, at) => aNode(`n${at}`, { inputs: ["in"], type: "read" }));
    loop.turn(1, joins("a", gives), submits("r", [aNode("in", { inputs: [], keep: true }), ...reads]));
    loop.turn(2, { ...loop.finished("r", "in", bytes), held: true });
    loop.turn(3, joins("b", gives));
    return loop;
  }

  test("a worker is asked when the wait is longer than bringing the inputs takes, and what the change costs", () => {
    const loop = withData(100 * MIB);
    // 1 ms and 1,024,000 microseconds.
    expect(recalls(loop.turn(1_277))).toEqual([]);
    expect(nextWakeAt(loop.state, 1_277)).toBe(1_278);
    const asked = recalls(loop.turn(1_278));
    expect(asked.map(({ moveMicros, waitMicros }) => [moveMicros, waitMicros])).toEqual(
      Array.from({ length: 5 }, () => [1_025_000, 1_276_000]),
    );
    const told = loop.turn(1_280, ...asked.map(returned));
    expect(assignments(told).every((text) => text.endsWith("#2 b"))).toBe(true);
  });

  test("no result is moved where workers are as fast as each other", () => {
    const loop = new Loop({ maxQueuePerWorker: 2 });
    for (const id of ["a", "b"]) loop.turn(1, joins(id, gives));
    const play = new DataPlay(loop, { tookMs: () => 40 });
    const makers = Array.from({ length: 64 }, (_, at) => aNode(`m${at}`, { inputs: [], type: "make" }));
    const users = Array.from({ length: 32 }, (_, at) =>
      aNode(`u${at}`, { inputs: [`m${2 * at}`, `m${2 * at + 1}`], type: "use" }),
    );
    play.submit([...makers, ...users]);
    play.finish();
    expect(loop.run("r").outcome).toBe("completed");
    expect(play.moved).toBe(0);
  });
});

test("what was asked for and given back is in the snapshot, and is decided again from the ledger", () => {
  const loop = unbalanced();
  const [first, second] = recalls(loop.turn(200)) as [TaskRecalled, TaskRecalled];
  loop.turn(201, { kind: "QueuePaused", zone: "here", executor: "" }, returned(first), returned(second));
  const snapshot = JSON.parse(JSON.stringify(takeSnapshot(loop.state)));
  expect(snapshot.recalls).toEqual([5, 6, 7].map((key) => [key, 1, 200]));
  expect(snapshot.returned).toEqual([8, 9].map((key) => [key, 0]));
  expect(stateHash(restore(snapshot))).toBe(stateHash(loop.state));
  const redecider = new Redecider();
  expect(loop.blocks.map((block) => redecider.check(block))).toEqual(loop.blocks.map(() => undefined));
});
