import { expect, test } from "vitest";
import { aConfig, aWorker } from "../../tests/builders.ts";
import { Candidates, chooseNear, DEFAULT_RATES, Demand, Fleet } from "./index.ts";

const MIB = 2 ** 20;
const NEEDS = { executor: "shell", zone: "here", capabilities: [], cpuMillicores: 0, memoryBytes: 0 };

/** Who gets a task whose two inputs are on the first worker, where workers hold so many tasks of 20 ms. */
function nearest(first: number, second: number): string {
  const fleet = new Fleet(aConfig({ maxQueuePerWorker: 64 }));
  for (const [number, count] of [first, second].entries()) {
    fleet.register(aWorker(`w${number}`), number + 1);
    const worker = fleet.workers[number];
    for (let key = 0; worker && key < count; key++)
      fleet.take(worker, 1000 * number + key, {
        cpuMillicores: 0,
        memoryBytes: 0,
        expectedEndMs: 0,
        since: 0,
        micros: 20_000,
      });
  }
  const candidates = new Candidates();
  candidates.find(fleet, new Demand(NEEDS), 5000);
  const all = { count: 2, bytes: 2 * MIB };
  const inputs = { ...all, at: new Map([[0, all]]), micros: 20_000, now: 0 };
  return chooseNear(fleet, candidates, inputs, DEFAULT_RATES).worker.id;
}

test("[D-05] inputs are brought to a worker that would begin sooner, by more than that takes and waits are known to", () => {
  expect([0, 3, 4].map((first) => nearest(first, 0))).toEqual(["w0", "w0", "w1"]);
  // An eighth of what forty tasks take is five more.
  expect([40, 43, 44, 48, 49].map((first) => nearest(first, 40))).toEqual(["w0", "w0", "w0", "w0", "w1"]);
});
