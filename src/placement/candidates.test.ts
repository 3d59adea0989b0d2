import { describe, expect, test } from "vitest";
import { aConfig, aWorker } from "../../tests/builders.ts";
import { Candidates, Demand, Fleet, type Needs, REJECTIONS, rejectionOf, type WorkerSpec } from "./index.ts";

const NEEDS: Needs = {
  executor: "shell",
  zone: "here",
  capabilities: ["gpu"],
  cpuMillicores: 500,
  memoryBytes: 500,
};
const OWN_KEY = 1;
const OTHER_KEY = 2;
const SMALL = { cpuMillicores: 1, memoryBytes: 1, expectedEndMs: 0 };

function fleetOf(options: Partial<WorkerSpec>): Fleet {
  const fleet = new Fleet(aConfig({ maxQueuePerWorker: 1 }));
  fleet.register(aWorker("w", { capabilities: ["gpu"], ...options }), 1);
  return fleet;
}

/** What the fast path and the plain one say about the only worker. */
function verdicts(fleet: Fleet, key = OWN_KEY): (string | undefined)[] {
  const candidates = new Candidates();
  candidates.find(fleet, new Demand(NEEDS), key);
  const counts = candidates.rejected();
  const fast = candidates.count === 1 ? undefined : REJECTIONS[counts.indexOf(1)];
  return [fast, fleet.workers[0] && rejectionOf(fleet, fleet.workers[0], NEEDS, key)];
}

test("[P-07] a worker that serves, is up, has room, resources and capabilities is a candidate", () => {
  expect(verdicts(fleetOf({}))).toEqual([undefined, undefined]);
  expect(verdicts(fleetOf({ capabilities: ["net", "gpu"] }))).toEqual([undefined, undefined]);
  expect(verdicts(fleetOf({ zone: "there", zones: ["here"] }))).toEqual([undefined, undefined]);
  expect(verdicts(fleetOf({ cpuMillicores: 500, memoryBytes: 500 }))).toEqual([undefined, undefined]);
});

describe("[P-07] a worker is no candidate", () => {
  const cases: readonly (readonly [string, string, Partial<WorkerSpec>, (fleet: Fleet) => void])[] = [
    ["executor", "when it serves another executor", { executors: ["wasm"] }, () => {}],
    ["zone", "when it serves another zone", { zone: "there", zones: ["far"] }, () => {}],
    ["capability", "when it lacks a capability", { capabilities: ["net"] }, () => {}],
    ["unreachable", "when it is unreachable", {}, (fleet) => fleet.lose(workerOf(fleet), 1)],
    ["draining", "when it drains", {}, (fleet) => fleet.drain(workerOf(fleet))],
    ["overloaded", "when it is overloaded", {}, (fleet) => fleet.reportLoad(workerOf(fleet), 0, true)],
    [
      "queue",
      "when its slots and its queue are full",
      { slots: 2 },
      (fleet) => {
        for (const key of [10, 11, 12]) fleet.take(workerOf(fleet), key, SMALL);
      },
    ],
    ["reserved", "when it is kept free", {}, (fleet) => fleet.reserve(workerOf(fleet), OTHER_KEY)],
    ["cpu", "when it has too few millicores", { cpuMillicores: 499 }, () => {}],
    ["memory", "when it has too few bytes", { memoryBytes: 499 }, () => {}],
  ];
  test("there is a case for every code but the last, which takes two workers", () => {
    expect(cases.map(([code]) => code)).toEqual(REJECTIONS.slice(0, -1));
  });
  test.each(cases)("(%s) %s", (code, _when, options, prepare) => {
    const fleet = fleetOf(options);
    prepare(fleet);
    expect(verdicts(fleet)).toEqual([code, code]);
  });
});

test("a worker that gave the task back is no candidate where there is another", () => {
  const fleet = fleetOf({});
  fleet.returned.set(OWN_KEY, workerOf(fleet));
  expect(verdicts(fleet)).toEqual([undefined, undefined]);
  fleet.register(aWorker("v", { capabilities: ["gpu"] }), 2);
  const candidates = new Candidates();
  candidates.find(fleet, new Demand(NEEDS), OWN_KEY);
  expect([candidates.count, candidates.available]).toEqual([1, 1]);
  expect(candidates.rejected()).toEqual([...REJECTIONS.slice(0, -1).map(() => 0), 1]);
  candidates.find(fleet, new Demand(NEEDS), OTHER_KEY);
  expect(candidates.count).toBe(2);
});

test("[P-07] room in the queue counts slots and the queue behind them", () => {
  const fleet = fleetOf({ slots: 2 });
  for (const key of [10, 11]) fleet.take(workerOf(fleet), key, SMALL);
  expect(verdicts(fleet)).toEqual([undefined, undefined]);
});

test("[P-07] of several causes the first in the order of the codes is given", () => {
  const fleet = fleetOf({ executors: ["wasm"], zone: "there", capabilities: [], cpuMillicores: 0 });
  expect(verdicts(fleet)).toEqual(["executor", "executor"]);
  const full = fleetOf({ slots: 0, cpuMillicores: 0, memoryBytes: 0 });
  expect(verdicts(full)).toEqual(["cpu", "cpu"]);
});

test("[P-12] a worker that is kept free is a candidate for the task that it is kept for", () => {
  const fleet = fleetOf({});
  fleet.reserve(workerOf(fleet), OWN_KEY);
  expect(verdicts(fleet, OWN_KEY)).toEqual([undefined, undefined]);
  expect(verdicts(fleet, OTHER_KEY)).toEqual(["reserved", "reserved"]);
});

function workerOf(fleet: Fleet) {
  const [worker] = fleet.workers;
  if (!worker) throw new Error("there is one worker");
  return worker;
}
