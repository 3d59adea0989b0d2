import fc from "fast-check";
import { expect, test } from "vitest";
import { anyDag } from "../../tests/any-graph.ts";
import { joins, Loop, submits } from "../../tests/builders.ts";
import { runAlone } from "../../tests/run-alone.ts";
import { limitsOf, type NodeSpec } from "../graph/index.ts";
import type { SchedulerConfig } from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";

/** What starts when and where, and what workers and room are kept for. */
function decided(
  config: Partial<SchedulerConfig>,
  workers: readonly Partial<WorkerSpec>[],
  nodes: readonly NodeSpec[],
): string[] {
  const joining = workers.map((worker, at) => joins(`w${at}`, worker));
  const told: string[] = [];
  for (const { at, event } of runAlone(new Loop(config), nodes, ...joining, submits("r", nodes))) {
    if (event.kind === "TaskAssigned") told.push(`${at} ${event.node} on ${event.worker}`);
    else if (event.kind === "ReservationMade" || event.kind === "RoomReserved")
      told.push(`${at} ${event.kind} ${event.node}`);
  }
  return told;
}

const anyNeeds = fc
  .record({
    executor: fc.constantFrom("shell", "shell", "wasm"),
    cpuMillicores: fc.constantFrom(0, 100, 300, 1_000),
    memoryBytes: fc.constantFrom(0, 100, 700),
    capabilities: fc.constantFrom([], [], ["gpu"]),
    tokens: fc.constantFrom(0, 0, 1, 3, 7),
    gpu: fc.constantFrom(0, 0, 0, 1),
    estimateMs: fc.integer({ min: 1, max: 60 }).map((size) => size * 1_000),
    priority: fc.constantFrom(0 as const, 1 as const, 2 as const, 2 as const, 3 as const, 4 as const),
    risk: fc.constantFrom("low" as const, "medium" as const, "high" as const),
  })
  .map(({ tokens, gpu, ...options }) => ({
    ...options,
    ...limitsOf(new Map(Object.entries({ tokens, gpu }).filter(([, amount]) => amount > 0))),
  }));

const anyPool = fc.record({
  count: fc.integer({ min: 1, max: 3 }),
  slots: fc.constantFrom(1, 2, 4, 1_000),
  cpuMillicores: fc.constantFrom(1_000, 2_000, 1_000_000),
});

const anyWaits = fc.record({
  reserveAfterMs: fc.constantFrom(0, 20_000, 1_000_000),
  starveNodeMs: fc.constantFrom(5_000, 50_000, 14_400_000),
  fairShare: fc.constantFrom(null, 3),
});

test("[G-04] nodes of a run that is alone start in its order, whatever they need and however others would be ordered", () => {
  let differentNeeds = 0;
  fc.assert(
    fc.property(anyDag(30, anyNeeds), anyPool, anyWaits, (nodes, { count, ...room }, waits) => {
      const worker = {
        ...room,
        memoryBytes: room.cpuMillicores,
        executors: ["shell", "wasm"],
        capabilities: ["gpu"],
      };
      const workers = Array.from({ length: count }, () => worker);
      const through = (order: SchedulerConfig["order"]) =>
        decided({ ...waits, resources: { tokens: 9, gpu: 1 }, order }, workers, nodes);
      const starts = through("graph");
      expect(through("hrrn")).toEqual(starts);
      expect(through("classic")).toEqual(starts);
      expect(starts.filter((text) => text.includes(" on ")).length).toBe(nodes.length);
      if (new Set(nodes.map(({ task }) => JSON.stringify([task.cpuMillicores, task.limits]))).size > 3)
        differentNeeds++;
    }),
    { seed: 1, numRuns: 250 },
  );
  expect(differentNeeds).toBeGreaterThan(100);
});
