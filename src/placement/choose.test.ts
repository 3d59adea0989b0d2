import { describe, expect, test } from "vitest";
import { aConfig, aWorker, STRATEGIES } from "../../tests/builders.ts";
import {
  Candidates,
  type Choice,
  choose,
  Demand,
  Fleet,
  type PlacementConfig,
  type Strategy,
  type Subject,
  type Worker,
  type WorkerSpec,
} from "./index.ts";

const NEEDS = {
  executor: "shell",
  zone: "here",
  capabilities: [],
  cpuMillicores: 100,
  memoryBytes: 100,
};
const SMALL = { cpuMillicores: 100, memoryBytes: 100, expectedEndMs: 0 };
const SUBJECT: Subject = {
  nodeId: "n",
  type: "build",
  zone: "here",
  locality: undefined,
};

function fleetOf(strategy: Strategy, ids: readonly string[], config: Partial<PlacementConfig> = {}): Fleet {
  const fleet = new Fleet(aConfig({ strategy, ...config }));
  for (const id of ids) fleet.register(aWorker(id, { slots: 8 }), 1);
  return fleet;
}

function named(fleet: Fleet, id: string): Worker {
  const worker = fleet.known().find((one) => one.id === id);
  if (!worker) throw new Error(`no worker ${id}`);
  return worker;
}

/** Makes a worker hold so many tasks. */
function load(fleet: Fleet, id: string, depth: number): void {
  for (let at = 0; at < depth; at++) fleet.take(named(fleet, id), 1_000 + at, SMALL);
}

function place(fleet: Fleet, subject: Partial<Subject> = {}): Choice {
  const candidates = new Candidates();
  candidates.find(fleet, new Demand(NEEDS), 0);
  return choose(fleet, candidates, { ...SUBJECT, ...subject });
}

function held(fleet: Fleet, points: Readonly<Record<string, number>>): Subject["locality"] {
  return new Map(Object.entries(points).map(([id, amount]) => [named(fleet, id).number, amount]));
}

/** Who was chosen, who came next, and why, on a line. */
function told({ worker, runnerUp, reason }: Choice): string {
  const { type, ...parameters } = reason;
  return [worker.id, `before ${runnerUp?.id}`, type, ...Object.values(parameters)].join(" ");
}

test("[P-09] least loaded: the shortest queue, ties to the smaller id whoever registered first", () => {
  const fleet = fleetOf("least-loaded", ["c", "b", "a"]);
  load(fleet, "a", 2);
  load(fleet, "b", 1);
  load(fleet, "c", 1);
  expect(told(place(fleet))).toBe("b before c LeastLoaded 1");
});

test("[P-09] round robin goes on behind the worker that was given the last task, and around", () => {
  const fleet = fleetOf("round-robin", ["c", "a", "b"]);
  expect(told(place(fleet))).toBe("a before b RoundRobin 0");
  fleet.cursor = named(fleet, "a");
  expect(told(place(fleet))).toBe("b before c RoundRobin 1");
  fleet.cursor = named(fleet, "c");
  expect(told(place(fleet))).toBe("a before b RoundRobin 0");
});

test("[P-09] round robin passes over workers that are no candidates, also when it stands at one", () => {
  const fleet = fleetOf("round-robin", ["a", "b", "c", "d"]);
  fleet.cursor = named(fleet, "b");
  fleet.drain(named(fleet, "b"));
  fleet.drain(named(fleet, "c"));
  expect(told(place(fleet))).toBe("d before a RoundRobin 3");
});

test("[P-09] round robin serves every worker of a large fleet once before any twice", () => {
  const ids = Array.from({ length: 100 }, (_, at) => `w${String(at).padStart(3, "0")}`);
  const fleet = fleetOf("round-robin", ids);
  const served = ids.map(() => {
    const { worker } = place(fleet);
    fleet.cursor = worker;
    return worker.id;
  });
  expect(served).toEqual(ids);
});

describe("[P-09] random is a stable hash of node and workers, pinned for every platform:", () => {
  const ids = ["w1", "w2", "w3", "ä"];
  const pinned: readonly (readonly [seed: number, nodeId: string, id: string, hash: number])[] = [
    [0, "build", "w2", 3775293594],
    [0, "n1", "w3", 4214950688],
    [0, "n2", "w3", 4265181600],
    [0, "n3", "w1", 2774899491],
    [0, "n4", "ä", 3859811169],
    [0, "\u{1f600}", "w2", 1787527950],
    [7, "build", "ä", 4101726299],
    [7, "n1", "w2", 3651415030],
    [7, "n2", "w1", 4177852178],
    [7, "é", "ä", 3460872042],
  ];
  test.each(pinned)("seed %i, node %s", (seed, nodeId, id, hash) => {
    const { worker, reason } = place(fleetOf("random", ids, { seed }), { nodeId });
    expect([worker.id, reason]).toEqual([id, { type: "Random", hash }]);
  });
});

test("[P-09] random spreads nodes evenly over the workers", () => {
  const fleet = fleetOf("random", ["a", "b", "c", "d", "e"]);
  const counts = new Map<string, number>();
  for (let at = 0; at < 1_000; at++) {
    const { worker } = place(fleet, { nodeId: `node-${at}` });
    counts.set(worker.id, (counts.get(worker.id) ?? 0) + 1);
  }
  for (const id of ["a", "b", "c", "d", "e"]) {
    expect(counts.get(id)).toBeGreaterThan(150);
    expect(counts.get(id)).toBeLessThan(250);
  }
});

test("[P-09] random: a worker more moves only the nodes that it wins", () => {
  const before = fleetOf("random", ["a", "b", "c"]);
  const after = fleetOf("random", ["a", "b", "c", "d"]);
  let moved = 0;
  for (let at = 0; at < 400; at++) {
    const nodeId = `node-${at}`;
    const [was, is] = [place(before, { nodeId }).worker.id, place(after, { nodeId }).worker.id];
    if (was !== is) {
      expect(is).toBe("d");
      moved++;
    }
  }
  expect(moved).toBeGreaterThan(50);
  expect(moved).toBeLessThan(150);
});

test("[P-09] affinity ranks data locality, then previously executed, then same zone, then least loaded", () => {
  const fleet = new Fleet(aConfig({ strategy: "affinity" }));
  const join = (id: string, options: Partial<WorkerSpec> = {}) =>
    fleet.register(aWorker(id, { slots: 8, zones: ["here"], zone: "there", ...options }), 1);
  join("a");
  join("b", { zone: "here" });
  join("c");
  join("d");
  join("e");
  load(fleet, "a", 1);
  load(fleet, "b", 2);
  load(fleet, "c", 3);
  load(fleet, "d", 4);
  fleet.noteExecuted(named(fleet, "c"), "build");
  const locality = held(fleet, { d: 5, a: 4 });
  expect(told(place(fleet, { locality }))).toBe("d before a Affinity DataLocality");
  fleet.drain(named(fleet, "d"));
  expect(told(place(fleet, { locality }))).toBe("a before c Affinity DataLocality");
  expect(told(place(fleet))).toBe("c before b Affinity PreviouslyExecuted");
  fleet.drain(named(fleet, "c"));
  expect(told(place(fleet))).toBe("b before e Affinity SameZone");
  fleet.drain(named(fleet, "b"));
  expect(told(place(fleet))).toBe("e before a LeastLoaded 0");
});

test("[P-09] affinity prefers the worker that holds more, and executed counts for this type only", () => {
  const fleet = fleetOf("affinity", ["a", "b"]);
  expect(told(place(fleet, { locality: held(fleet, { a: 1, b: 2 }) }))).toBe(
    "b before a Affinity DataLocality",
  );
  fleet.noteExecuted(named(fleet, "b"), "test");
  expect(told(place(fleet))).toBe("a before b LeastLoaded 0");
  expect(told(place(fleet, { type: "test" }))).toBe("b before a Affinity PreviouslyExecuted");
});

describe("[P-10] with prefer locality a worker that holds input data wins over one that does not:", () => {
  test.each(STRATEGIES)("%s", (strategy) => {
    for (const holder of ["a", "b", "c"]) {
      const fleet = fleetOf(strategy, ["a", "b", "c"], { preferLocality: true });
      load(fleet, holder, 3);
      fleet.cursor = named(fleet, holder);
      const { worker, reason } = place(fleet, { locality: held(fleet, { [holder]: 1 }) });
      expect([worker.id, reason]).toEqual([holder, { type: "Affinity", because: "DataLocality" }]);
    }
  });
});

test("[P-10] without it, locality decides only where the strategy is affinity", () => {
  for (const strategy of STRATEGIES) {
    const fleet = fleetOf(strategy, ["a", "b"], { seed: 1 });
    load(fleet, "b", 3);
    fleet.cursor = named(fleet, "b");
    const plain = place(fleet).worker.id;
    const chosen = place(fleet, { locality: held(fleet, { b: 9 }) }).worker.id;
    expect(chosen).toBe(strategy === "affinity" ? "b" : plain);
  }
});

test("[P-10] between workers that hold data the strategy decides, and gives its own reason", () => {
  const fleet = fleetOf("least-loaded", ["a", "b", "c"], { preferLocality: true });
  load(fleet, "a", 2);
  load(fleet, "b", 1);
  expect(told(place(fleet, { locality: held(fleet, { a: 9, b: 1 }) }))).toBe("b before a LeastLoaded 1");
});

test("[P-10] data on a worker that is no candidate changes nothing", () => {
  const fleet = fleetOf("least-loaded", ["a", "b", "c"], { preferLocality: true });
  fleet.drain(named(fleet, "c"));
  load(fleet, "a", 1);
  expect(told(place(fleet, { locality: held(fleet, { c: 9 }) }))).toBe("b before a LeastLoaded 0");
});

describe("[P-11] the reason is the true cause under every strategy:", () => {
  test.each(STRATEGIES)("the only worker that was available, %s", (strategy) => {
    const fleet = fleetOf(strategy, ["a", "b", "c"]);
    fleet.drain(named(fleet, "a"));
    fleet.lose(named(fleet, "c"), 1);
    const { worker, runnerUp, reason } = place(fleet, { locality: held(fleet, { b: 1 }) });
    expect([worker.id, runnerUp, reason]).toEqual(["b", undefined, { type: "OnlyWorkerAvailable" }]);
  });

  test.each(STRATEGIES)("several were available and resources left one, %s", (strategy) => {
    const fleet = fleetOf(strategy, ["a", "b", "c"]);
    fleet.take(named(fleet, "a"), 1, { ...SMALL, cpuMillicores: 950 });
    fleet.take(named(fleet, "b"), 2, { ...SMALL, memoryBytes: 950 });
    fleet.take(named(fleet, "c"), 3, { ...SMALL, cpuMillicores: 300 });
    const { worker, runnerUp, reason } = place(fleet);
    expect([worker.id, runnerUp]).toEqual(["c", undefined]);
    expect(reason).toEqual({ type: "ResourceFit", availableCpu: 700, requiredCpu: 100 });
  });

  test("a worker kept for another task was not available", () => {
    const fleet = fleetOf("least-loaded", ["a", "b"]);
    fleet.reserve(named(fleet, "a"), 99);
    expect(place(fleet).reason).toEqual({ type: "OnlyWorkerAvailable" });
  });
});
