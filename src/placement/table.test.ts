import fc from "fast-check";
import { expect, test } from "vitest";
import { idAt } from "../../tests/any-graph.ts";
import { STRATEGIES } from "../../tests/builders.ts";
import {
  type CandidateRow,
  Candidates,
  candidateTable,
  choose,
  Demand,
  Fleet,
  type Needs,
  type PlacementConfig,
  REJECTIONS,
  type Reason,
  type Subject,
  type Worker,
  type WorkerSpec,
} from "./index.ts";

/** Kept through a whole sequence of changes, as groups keep theirs: they must follow the fleet. */
const NEEDS: readonly Needs[] = [
  { executor: "shell", zone: "here", capabilities: [], cpuMillicores: 1, memoryBytes: 1 },
  { executor: "shell", zone: "here", capabilities: ["gpu"], cpuMillicores: 2, memoryBytes: 0 },
  { executor: "shell", zone: "there", capabilities: [], cpuMillicores: 0, memoryBytes: 3 },
  { executor: "wasm", zone: "here", capabilities: ["gpu", "net"], cpuMillicores: 3, memoryBytes: 3 },
];

const anyConfig: fc.Arbitrary<PlacementConfig> = fc.record({
  strategy: fc.constantFrom(...STRATEGIES),
  preferLocality: fc.boolean(),
  keepLostWorkers: fc.constant(1_000),
  maxQueuePerWorker: fc.nat(2),
  seed: fc.nat(3),
  overloadedAtPermille: fc.constant(900),
  relievedBelowPermille: fc.constant(700),
});

const anySpec: fc.Arbitrary<Omit<WorkerSpec, "id">> = fc.record({
  endpoint: fc.constant(""),
  zone: fc.constantFrom("here", "there", "far"),
  zones: fc.subarray(["here", "there"]),
  executors: fc.oneof(
    { weight: 4, arbitrary: fc.constant(["shell", "wasm"]) },
    { weight: 1, arbitrary: fc.subarray(["shell", "wasm"]) },
  ),
  capabilities: fc.subarray(["gpu", "net"]),
  cpuMillicores: fc.nat(6),
  memoryBytes: fc.nat(6),
  slots: fc.nat(3),
});

const anyChange = fc.oneof(
  ...(["take", "take", "release", "lose", "drain", "load", "reserve", "unreserve", "note"] as const).map(
    (what) =>
      fc.record({ what: fc.constant(what), worker: fc.nat(), amount: fc.nat(6), number: fc.nat(1_000) }),
  ),
  fc.record({ what: fc.constant("register" as const), worker: fc.nat(), spec: anySpec }),
  fc.record({ what: fc.constant("configure" as const), config: anyConfig }),
);
type Change = typeof anyChange extends fc.Arbitrary<infer Value> ? Value : never;

const anyLook = fc.record({
  change: anyChange,
  demand: fc.nat(NEEDS.length - 1),
  key: fc.nat(5),
  nodeId: fc.constantFrom("a", "b", "\u{1f600}"),
  type: fc.constantFrom("build", "test"),
  locality: fc.option(fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 1, 5, 9)), { maxLength: 4 }), {
    nil: undefined,
  }),
});

test("[P-07] [P-09] [P-10] [P-11] decisions by bits are the decisions of the plain table", () => {
  const anySpecs = fc.oneof(
    fc.array(anySpec, { maxLength: 5 }),
    fc.array(anySpec, { minLength: 30, maxLength: 70 }),
  );
  const anyLooks = fc.array(anyLook, { minLength: 20, maxLength: 60 });
  let decided = 0;
  fc.assert(
    fc.property(anyConfig, anySpecs, anyLooks, (config, specs, looks) => {
      const fleet = new Fleet(config);
      for (const [index, spec] of specs.entries()) fleet.register({ id: idAt(index), ...spec }, index);
      const demands = NEEDS.map((needs) => new Demand(needs));
      const candidates = new Candidates();
      for (const look of looks) {
        change(fleet, look.change);
        const demand = demands[look.demand] as Demand;
        const { zone } = demand.needs;
        const { nodeId, type, key } = look;
        const subject: Subject = {
          nodeId,
          type,
          zone,
          locality: localityFor(fleet, look.locality),
        };
        decided += expectAgreement(fleet, demand, candidates, key, subject) ? 1 : 0;
      }
    }),
    { seed: 1, numRuns: 250 },
  );
  expect(decided).toBeGreaterThan(2_000);
});

function expectAgreement(
  fleet: Fleet,
  demand: Demand,
  candidates: Candidates,
  key: number,
  subject: Subject,
): boolean {
  const rows = candidateTable(fleet, demand.needs, key, subject);
  candidates.find(fleet, demand, key);
  const accepted = rows.filter((row) => row.rejection === undefined);
  const available = rows.filter(
    ({ rejection }) => rejection === undefined || rejection === "cpu" || rejection === "memory",
  );
  const counts = REJECTIONS.map((code) => rows.filter(({ rejection }) => rejection === code).length);
  expect(candidates.rejected()).toEqual(counts.slice(0, counts.findLastIndex((count) => count > 0) + 1));
  expect([candidates.count, candidates.available]).toEqual([accepted.length, available.length]);
  if (accepted.length === 0) return false;
  const [first, second] = accepted.toSorted((a, b) => Number(a.rank) - Number(b.rank));
  const choice = choose(fleet, candidates, subject);
  expect(choice.worker.id).toBe(first?.worker);
  expect(choice.runnerUp?.id).toBe(second?.worker);
  expect(choice.reason).toEqual(
    available.length === 1
      ? { type: "OnlyWorkerAvailable" }
      : causeOf(fleet, rows, demand.needs.cpuMillicores),
  );
  return true;
}

/** The first thing that sets the chosen one apart from the next best. */
function causeOf(fleet: Fleet, rows: readonly CandidateRow[], cpuMillicores: number): Reason {
  const first = rows.find(({ rank }) => rank === 1) as CandidateRow;
  const second = rows.find(({ rank }) => rank === 2);
  if (!second) return { type: "ResourceFit", availableCpu: first.freeCpu, requiredCpu: cpuMillicores };
  const { strategy, preferLocality } = fleet.config;
  if (preferLocality && first.locality > 0 && second.locality === 0) {
    return { type: "Affinity", because: "DataLocality" };
  }
  if (strategy === "round-robin") return { type: "RoundRobin", index: rows.indexOf(first) };
  if (strategy === "random") return { type: "Random", hash: first.score };
  if (strategy === "affinity") {
    if (first.locality !== second.locality) return { type: "Affinity", because: "DataLocality" };
    if (first.executedBefore !== second.executedBefore) {
      return { type: "Affinity", because: "PreviouslyExecuted" };
    }
    if (first.sameZone !== second.sameZone) return { type: "Affinity", because: "SameZone" };
  }
  return { type: "LeastLoaded", queueDepth: first.queueDepth };
}

/** Changes a fleet as the scheduler may; what it never does (such as draining an unreachable worker) is left out. */
function change(fleet: Fleet, one: Change): void {
  if (one.what === "configure") {
    fleet.configure(one.config);
    return;
  }
  const worker = fleet.workers[one.worker % Math.max(1, fleet.workers.length)];
  if (one.what === "register") {
    const id = idAt(one.worker % (fleet.workers.length + 1));
    const known = fleet.known().find((worker) => worker.id === id);
    if (known) lose(fleet, known);
    fleet.register({ id, ...one.spec }, one.worker);
    return;
  }
  if (!worker) return;
  const isUp = worker.status === "Idle" || worker.status === "Busy" || worker.status === "Overloaded";
  switch (one.what) {
    case "take": {
      const held = { cpuMillicores: one.amount % 3, memoryBytes: one.amount % 2, expectedEndMs: 0 };
      fleet.cursor = worker;
      if (isUp && !worker.held.has(one.number)) fleet.take(worker, one.number, held);
      break;
    }
    case "release": {
      const [key] = worker.held.keys();
      if (key !== undefined) fleet.release(worker, key);
      break;
    }
    case "lose":
      lose(fleet, worker);
      break;
    case "drain":
      if (isUp) fleet.drain(worker);
      break;
    case "load":
      fleet.reportLoad(worker, one.number, one.amount === 0);
      break;
    case "reserve":
      if (isUp && worker.reservedFor === undefined && !fleet.reservations.has(one.amount)) {
        fleet.reserve(worker, one.amount);
      }
      break;
    case "unreserve":
      fleet.unreserve(one.amount);
      break;
    case "note":
      fleet.noteExecuted(worker, one.amount % 2 ? "build" : "test");
      break;
  }
}

function lose(fleet: Fleet, worker: Worker): void {
  for (const key of worker.held.keys()) fleet.release(worker, key);
  fleet.lose(worker, 1);
}

function localityFor(
  fleet: Fleet,
  picks: readonly (readonly [number, number])[] | undefined,
): ReadonlyMap<number, number> | undefined {
  if (!picks || fleet.workers.length === 0) return undefined;
  return new Map(picks.map(([pick, points]) => [pick % fleet.workers.length, points]));
}
