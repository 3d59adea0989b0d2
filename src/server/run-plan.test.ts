import fc from "fast-check";
import { expect, test } from "vitest";
import { anyDag } from "../../tests/any-graph.ts";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { runAlone } from "../../tests/run-alone.ts";
import { limitsOf, type NodeSpec } from "../graph/index.ts";
import type { SchedulerConfig } from "../ledger/index.ts";
import { forecast, remainingOf } from "./run-plan.ts";

async function planned(loop: Loop, id: string, now: number) {
  const found = await forecast(remainingOf(loop.state, loop.run(id), now));
  const times = Object.fromEntries([...found.nodes].map(([node, { start, end }]) => [node, [start, end]]));
  return { ...found, times };
}

const chain = [
  aNode("a", { estimateMs: 400 }),
  aNode("b", { estimateMs: 300, needs: ["a"] }),
  aNode("c", { estimateMs: 100 }),
  aNode("d", { estimateMs: 100, needs: ["a"] }),
];

test("[G-13] what remains is planned on the slots that are there, from now on, and what ran counts with its rest", async () => {
  const loop = new Loop();
  loop.turn(1_000, joins("w", { slots: 2 }), submits("r", chain));
  const before = await planned(loop, "r", 1_000);
  expect(before.times).toEqual({
    a: [1_000, 1_400],
    b: [1_400, 1_700],
    c: [1_000, 1_100],
    d: [1_400, 1_500],
  });
  expect([before.end, before.earliestEnd]).toEqual([1_700, 1_700]);
  expect([...before.nodes].filter(([, { isCritical }]) => isCritical).map(([id]) => id)).toEqual(["a", "b"]);
  loop.turn(1_150, loop.finished("r", "c"));
  const after = await planned(loop, "r", 1_200);
  expect(after.times).toEqual({ a: [1_200, 1_400], b: [1_400, 1_700], d: [1_400, 1_500] });
});

test("[G-13] what others have on the workers, under the limits and of the share is waited for", async () => {
  const loop = new Loop({ fairShare: 2, resources: { gpu: 1 } });
  const gpu = limitsOf(new Map([["gpu", 1]]));
  loop.turn(1_000, joins("w", { slots: 4 }), submits("other", [aNode("x", { ...gpu, estimateMs: 500 })]));
  loop.turn(
    1_100,
    submits("r", [aNode("a", { ...gpu, estimateMs: 50 }), aNode("b", { estimateMs: 70 }), aNode("c")]),
  );
  // One of the share is the other's until it ends; then b goes first, for it holds up more, and a has the limit.
  const { times } = await planned(loop, "r", 1_100);
  expect(times).toEqual({ a: [1_570, 1_620], b: [1_500, 1_570], c: [1_100, 2_100] });
});

test("[G-13] what no worker can run is not planned, and what hangs on it says so", async () => {
  const loop = new Loop();
  loop.turn(
    1,
    joins("w"),
    submits("r", [...chain, aNode("z", { executor: "nobody" }), aNode("y", { needs: ["z"] })]),
  );
  const { skipped, times, end } = await planned(loop, "r", 1);
  expect(end).toBeUndefined();
  expect([skipped.get("z"), skipped.get("y"), times["z"]]).toEqual([
    "Unsatisfiable",
    "Dependencies",
    undefined,
  ]);
});

const anyNeeds = fc
  .record({
    executor: fc.constantFrom("shell", "shell", "wasm"),
    tokens: fc.constantFrom(0, 0, 1, 3, 7),
    gpu: fc.constantFrom(0, 0, 0, 1),
    estimateMs: fc.integer({ min: 1, max: 500 }),
    priority: fc.constantFrom(0 as const, 1 as const, 2 as const, 2 as const, 3 as const, 4 as const),
    risk: fc.constantFrom("low" as const, "medium" as const, "high" as const),
  })
  .map(({ tokens, gpu, ...options }) => ({
    ...options,
    ...{ cpuMillicores: 0, memoryBytes: 0 },
    ...limitsOf(new Map(Object.entries({ tokens, gpu }).filter(([, amount]) => amount > 0))),
  }));

/** What is forecast in the turn of the start with that number, and what starts in later turns. */
async function forecastAfter(
  starts: number,
  slots: number,
  nodes: readonly NodeSpec[],
  order: SchedulerConfig["order"],
) {
  const loop = new Loop({ order, resources: { tokens: 9, gpu: 1 } });
  const worker = joins("w", { slots, executors: ["shell", "wasm"] });
  let found: (Awaited<ReturnType<typeof planned>> & { readonly at: number }) | undefined;
  const later = new Map<string, number>();
  let started = 0;
  let end = 0;
  for (const { at, event } of runAlone(loop, nodes, worker, submits("r", nodes))) {
    if (event.kind !== "TaskAssigned") continue;
    if (++started === Math.min(starts, nodes.length)) found = { ...(await planned(loop, "r", at)), at };
    const { id, task } = nodes[event.node] as NodeSpec;
    if (found && at > found.at) later.set(id, at);
    end = Math.max(end, at + task.estimateMs);
  }
  return { found, later, end };
}

test("[G-13] [G-04] a run that is alone goes as was forecast, whatever the order and however different its nodes' needs", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      anyDag(25, anyNeeds),
      fc.constantFrom(1, 2, 4, 100),
      fc.constantFrom("hrrn" as const, "classic" as const, "graph" as const),
      fc.integer({ min: 1, max: 4 }),
      async (nodes, slots, order, starts) => {
        const { found, later, end } = await forecastAfter(starts, slots, nodes, order);
        expect(found?.end).toBe(end);
        for (const [id, at] of later) expect(found?.times[id]?.[0], id).toBe(at);
        compared += later.size;
      },
    ),
    { seed: 1, numRuns: 250 },
  );
  expect(compared).toBeGreaterThan(700);
});
