import { expect, test } from "vitest";
import { aConfig, aWorker } from "../../tests/builders.ts";
import { Demand, Fleet, firstOpening, type Needs, type Worker, type WorkerSpec } from "./index.ts";

const LARGE: Needs = {
  executor: "shell",
  zone: "here",
  capabilities: [],
  cpuMillicores: 1_000,
  memoryBytes: 0,
};

function fleetOf(...workers: readonly (readonly [id: string, options?: Partial<WorkerSpec>])[]): Fleet {
  const fleet = new Fleet(aConfig());
  for (const [id, options] of workers) fleet.register(aWorker(id, { slots: 4, ...options }), 1);
  return fleet;
}

function give(fleet: Fleet, id: string, key: number, cpuMillicores: number, expectedEndMs: number): void {
  fleet.take(fleet.named("here", id) as Worker, key, { cpuMillicores, memoryBytes: 100, expectedEndMs });
}

function opening(fleet: Fleet, needs: Partial<Needs> = {}, now = 0) {
  const found = firstOpening(fleet, new Demand({ ...LARGE, ...needs }), now);
  return found && [found.worker.id, found.freeAt];
}

test("[P-12] the worker that should have room first is kept free, by the estimates of what it holds", () => {
  const fleet = fleetOf(["a"], ["b"], ["c"]);
  give(fleet, "a", 1, 200, 90);
  give(fleet, "b", 2, 200, 10);
  give(fleet, "b", 3, 200, 50);
  give(fleet, "c", 4, 200, 70);
  expect(opening(fleet)).toEqual(["b", 50]);
});

test("[P-12] a worker has room when enough has ended, not when all has", () => {
  const fleet = fleetOf(["a"]);
  give(fleet, "a", 1, 300, 30);
  give(fleet, "a", 2, 300, 10);
  give(fleet, "a", 3, 300, 20);
  expect(opening(fleet, { cpuMillicores: 700 })).toEqual(["a", 20]);
  expect(opening(fleet, { cpuMillicores: 100 })).toEqual(["a", 0]);
  expect(opening(fleet, { cpuMillicores: 0, memoryBytes: 900 })).toEqual(["a", 20]);
});

test("[P-12] a worker without a free slot has room when one is free", () => {
  const fleet = fleetOf(["a", { slots: 2 }]);
  give(fleet, "a", 1, 0, 40);
  give(fleet, "a", 2, 0, 30);
  expect(opening(fleet, { cpuMillicores: 1 })).toEqual(["a", 30]);
});

test("[P-12] an estimate that has passed counts as any moment now; ties fall to the smaller id", () => {
  const fleet = fleetOf(["b"], ["a"]);
  give(fleet, "a", 1, 200, 10);
  give(fleet, "b", 2, 200, 5);
  expect(opening(fleet, {}, 100)).toEqual(["a", 100]);
});

test("[P-12] a worker that could never run it, takes no work or is kept for another is not kept for it", () => {
  const fleet = fleetOf(
    ["small", { cpuMillicores: 999 }],
    ["other", { executors: ["wasm"] }],
    ["far", { zone: "there" }],
    ["drains"],
    ["lost"],
    ["overloaded"],
    ["kept"],
    ["z"],
  );
  const named = (id: string) => fleet.named("here", id) as Worker;
  give(fleet, "z", 1, 200, 500);
  fleet.drain(named("drains"));
  fleet.lose(named("lost"), 1);
  fleet.reportLoad(named("overloaded"), 1_000, true);
  fleet.reserve(named("kept"), 7);
  expect(opening(fleet)).toEqual(["z", 500]);
  fleet.drain(named("z"));
  expect(opening(fleet)).toBeUndefined();
});
