import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, type NodeOptions, submits } from "../../tests/builders.ts";
import { DEFAULT_SPECULATION, type SpeculationSettings } from "../graph/index.ts";
import type { Assessment, AttemptFinished, SchedulerConfig } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import { eventsOf, restore, type State, Status, stateHash, takeSnapshot } from "./index.ts";
import { replayBlock } from "./replay.ts";

const ASKS = { speculate: true, maxAttempts: 2 } as const;

/** A loop in which the node `x`, which `y` needs, is submitted to a worker with so many slots. */
function begun(
  slots: number,
  options: NodeOptions = ASKS,
  speculation: Partial<SpeculationSettings> = {},
  config: Partial<SchedulerConfig> = {},
): Loop {
  const loop = new Loop({ ...config, speculation: { ...DEFAULT_SPECULATION, ...speculation } });
  const nodes = [aNode("x", options), aNode("y", { needs: ["x"] })];
  loop.turn(1, joins("w", { slots }), submits("r", nodes));
  return loop;
}

/** The end of an alternative, by the number of its task. */
function finishes(state: State, number: number, hash: string, assessment?: Assessment): AttemptFinished {
  const attempt = state.singles.attemptOf(number);
  const of = { run: NO_RUN, node: number, attempt, startedAt: state.now };
  const told = assessment ? { costMicros: 0, assessment } : {};
  return { kind: "AttemptFinished", ...of, resultHash: hash, resultBytes: 10 + number, ...told };
}

function fails(state: State, number: number) {
  const attempt = state.singles.attemptOf(number);
  const of = { run: NO_RUN, node: number, attempt, startedAt: state.now };
  return { kind: "AttemptFailed", ...of, code: "exit", message: "exit code 1" } as const;
}

const GOOD: Assessment = { verified: true, confidencePermille: 900, lines: 0, risk: "low" };
const POOR: Assessment = { verified: true, confidencePermille: 0, lines: 0, risk: "critical" };

describe("[G-07] a node starts in several alternatives", () => {
  test("all of them in the turn in which it is decided, and itself waits for the vote", () => {
    const loop = begun(3);
    const texts = loop.blocks.flatMap((block) => [...eventsOf(block)].map(({ event }) => event.kind));
    expect(texts.slice(3)).toEqual(["TaskSpeculated", "TaskAssigned", "TaskAssigned"]);
    expect(loop.status("r", "x")).toBe("speculating");
    expect(loop.status("r", "y")).toBe("waiting");
    expect(loop.state.fleet.heldTotal).toBe(2);
    expect(loop.state.backlog).toBe(1);
  });

  test.each([
    ["without two spare slots", 2, ASKS, {}],
    ["where it is switched off", 9, ASKS, { enabled: false }],
    ["where nothing calls for it", 9, {}, {}],
    [
      "where it is risky but off the critical path",
      9,
      { risk: "critical", estimateMs: 0 },
      { autoTriggerOnCriticalPath: false },
    ],
    ["where a worker has cores for two and a half", 9, { ...ASKS, cpuMillicores: 400 }, {}],
    ["without memory for a second one", 9, { ...ASKS, memoryBytes: 501 }, {}],
  ] as const)("not %s: then it runs once", (_when, slots, options, speculation) => {
    const loop = begun(slots, options, speculation);
    expect(loop.status("r", "x")).toBe("assigned");
    expect(loop.state.singles.all.size).toBe(0);
  });

  test("on workers with a free slot: a place in a queue will not do", () => {
    const loop = new Loop({ maxQueuePerWorker: 5, speculation: DEFAULT_SPECULATION });
    loop.turn(1, joins("a", { slots: 1 }), submits("long", [aNode("hour", { estimateMs: 3_600_000 })]));
    loop.turn(2, joins("b", { slots: 4 }), submits("r", [aNode("x", ASKS)]));
    expect(loop.state.fleet.named("here", "a")?.held.size).toBe(1);
    expect(loop.state.fleet.named("here", "b")?.held.size).toBe(2);
  });

  test.each([
    ["as many as are configured", 9, {}, { defaultParallelism: 3 }, 3],
    ["no more than there are slots", 3, {}, { defaultParallelism: 4, maxParallelism: 4 }, 3],
    ["where it is risky and on the critical path", 9, { speculate: false, risk: "high" }, {}, 2],
    ["where all are", 9, { speculate: false }, { forceSpeculate: true }, 2],
    ["no more than there are tokens", 9, { limits: ["tokens"], amounts: [40] }, { defaultParallelism: 3 }, 2],
    ["no more than another limit allows", 9, { limits: ["gpu"] }, { defaultParallelism: 3 }, 2],
  ] as const)("%s", (_when, slots, options, speculation, count) => {
    const loop = begun(slots, { ...ASKS, ...options }, speculation, { resources: { tokens: 100, gpu: 2 } });
    expect(loop.run("r").speculations.get(0)?.ends).toHaveLength(count);
    expect(loop.state.fleet.heldTotal).toBe(count);
  });
});

describe("[G-08] the vote", () => {
  test("takes the result of a majority; what hangs on the node starts, what still runs is stopped", () => {
    const loop = begun(9, ASKS, { defaultParallelism: 3 });
    loop.turn(5, finishes(loop.state, 0, "same"));
    expect(loop.status("r", "x")).toBe("speculating");
    const { texts, events } = loop.turn(9, finishes(loop.state, 2, "same"));
    expect(texts).toEqual([
      "AttemptFinished -1/2#1",
      "VoteTaken x",
      "CancelSignalled -1/1#1",
      "TaskAssigned y#1 w",
    ]);
    expect(events[1]).toMatchObject({
      winner: 0,
      by: "majority",
      scores: [[40, 16, 15, 10, 5], null, [40, 16, 15, 10, 0]],
    });
    expect(loop.run("r").resultBytes[0]).toBe(10);
    const cancelled = { run: NO_RUN, node: 1, attempt: 1, startedAt: 1 };
    expect(loop.turn(10, { kind: "AttemptCancelled", ...cancelled }).texts).toEqual([
      "AttemptCancelled -1/1#1",
      "TaskCancelled -1/1",
    ]);
    expect(loop.turn(11, loop.finished("r", "y")).texts.at(-1)).toBe("RunEnded completed");
  });

  test("takes the best score where all differ, once no other can be better", () => {
    const loop = begun(9);
    expect(loop.turn(5, finishes(loop.state, 0, "a", POOR)).texts).toHaveLength(1);
    const { events } = loop.turn(9, finishes(loop.state, 1, "b", GOOD));
    expect(events[1]).toMatchObject({ kind: "VoteTaken", winner: 1, by: "score" });
    expect(loop.status("r", "x")).toBe("completed");
    expect(loop.run("r").resultBytes[0]).toBe(11);
  });

  test("leaves it to a person where none is good enough", () => {
    const loop = begun(9);
    loop.turn(5, finishes(loop.state, 0, "a", POOR));
    const { texts, events } = loop.turn(9, finishes(loop.state, 1, "b", POOR));
    expect(texts.slice(1)).toEqual(["VoteTaken x", "TaskFailed x", "TasksSkipped x", "RunEnded failed"]);
    expect(events[1]).toMatchObject({ winner: -1, by: "nobody" });
    expect(events[2]).toMatchObject({ code: "escalated" });
  });

  test("counts an alternative out that its worker does not vouch for, and one that failed for good", () => {
    const loop = begun(9, ASKS, { defaultParallelism: 3 });
    loop.turn(5, finishes(loop.state, 0, "a", { ...GOOD, verified: false }));
    loop.turn(6, fails(loop.state, 1));
    expect(loop.state.singles.attemptOf(1)).toBe(2);
    loop.turn(7, fails(loop.state, 1));
    const { events } = loop.turn(9, finishes(loop.state, 2, "c", GOOD));
    expect(events[1]).toMatchObject({
      winner: 2,
      by: "score",
      scores: [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], expect.anything()],
    });
  });

  test("goes on where an alternative is lost with its worker: that is tried again", () => {
    const loop = begun(9);
    loop.turn(4, joins("v", { slots: 9 }));
    loop.turn(5, { kind: "WorkerLost", worker: 0, code: "lease" });
    expect(loop.state.fleet.heldTotal).toBe(2);
    expect(loop.status("r", "x")).toBe("speculating");
    loop.turn(6, finishes(loop.state, 0, "same"));
    loop.turn(7, finishes(loop.state, 1, "same"));
    expect(loop.status("r", "x")).toBe("completed");
  });
});

describe("[Q-08] what is cancelled", () => {
  test.each([
    ["the node", 0],
    ["the run", -1],
  ])("%s: its alternatives are stopped with it", (_what, node) => {
    const loop = begun(9);
    loop.turn(2, { kind: "AttemptLost", run: NO_RUN, node: 0, attempt: 1, startedAt: 1 });
    loop.turn(3, { kind: "CancelRequested", run: 0, node });
    expect(loop.status("r", "x")).toBe("cancelled");
    for (const number of [0, 1]) expect(loop.state.singles.statusOf(number)).toBe(Status.cancelling);
    for (const number of [0, 1])
      loop.turn(4 + number, {
        kind: "AttemptCancelled",
        run: NO_RUN,
        node: number,
        attempt: loop.state.singles.attemptOf(number),
        startedAt: 3,
      });
    expect(loop.state.singles.all.size).toBe(0);
    expect(loop.state.fleet.heldTotal).toBe(0);
    expect(loop.run("r").outcome).toBe(node === -1 ? "cancelled" : "failed");
  });

  test("a run that stops at the first failure stops alternatives too", () => {
    const loop = new Loop({ speculation: DEFAULT_SPECULATION });
    const nodes = [aNode("x", ASKS), aNode("z", { estimateMs: 1 })];
    loop.turn(1, joins("w", { slots: 9 }), submits("r", nodes, { onFailure: "cancel" }));
    loop.turn(2, loop.failed("r", "z"));
    expect(loop.status("r", "x")).toBe("cancelled");
    expect(loop.state.singles.statusOf(0)).toBe(Status.cancelling);
  });
});

test("[P-06] a state with alternatives is the same after a snapshot, and after a replay", () => {
  const loop = begun(9, ASKS, { defaultParallelism: 3 });
  loop.turn(5, finishes(loop.state, 0, "a", GOOD));
  const again = restore(JSON.parse(JSON.stringify(takeSnapshot(loop.state))));
  expect(stateHash(again)).toBe(stateHash(loop.state));
  expect(again.singles.get(1).alternativeOf).toEqual({ run: 0, node: 0, at: 1 });
  loop.turn(6, finishes(loop.state, 1, "a", GOOD));
  const replayed = new (loop.state.constructor as new () => State)();
  for (const block of loop.blocks) replayBlock(replayed, block);
  expect(stateHash(replayed)).toBe(stateHash(loop.state));
});
