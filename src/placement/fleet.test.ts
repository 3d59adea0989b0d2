import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aConfig, aWorker } from "../../tests/builders.ts";
import { InvariantError } from "../core/index.ts";
import { Fleet, shouldAccept, shouldThrottle, Worker, type WorkerStatus } from "./index.ts";

const SMALL = { cpuMillicores: 100, memoryBytes: 10, expectedEndMs: 0 };

function fleetWith(count: number, maxQueuePerWorker = 0): Fleet {
  const fleet = new Fleet(
    aConfig({ maxQueuePerWorker, overloadedAtPermille: 900, relievedBelowPermille: 700 }),
  );
  for (let at = 0; at < count; at++) fleet.register(aWorker(`w${at}`), at + 1);
  return fleet;
}

function first(fleet: Fleet): Worker {
  return fleet.workers[0] ?? new Worker(0, aWorker("none"));
}

test("[P-03] what is given takes resources, and giving it back returns them", () => {
  const fleet = fleetWith(1);
  const worker = first(fleet);
  fleet.take(worker, 1, { cpuMillicores: 300, memoryBytes: 40, expectedEndMs: 0 });
  fleet.take(worker, 2, { cpuMillicores: 700, memoryBytes: 60, expectedEndMs: 0 });
  expect([worker.freeCpu, worker.freeMemory, worker.queueDepth]).toEqual([0, 900, 2]);
  fleet.release(worker, 1);
  expect([worker.freeCpu, worker.freeMemory, worker.queueDepth]).toEqual([300, 940, 1]);
  fleet.release(worker, 2);
  expect([worker.freeCpu, worker.freeMemory, worker.queueDepth]).toEqual([1_000, 1_000, 0]);
});

test("[P-03] nothing is given back twice", () => {
  const fleet = fleetWith(1);
  fleet.take(first(fleet), 1, SMALL);
  fleet.release(first(fleet), 1);
  expect(() => fleet.release(first(fleet), 1)).toThrow(InvariantError);
});

describe("[P-08] the status of a worker moves by its table:", () => {
  const moves: Readonly<Record<WorkerStatus, readonly WorkerStatus[]>> = {
    Idle: ["Idle", "Busy", "Overloaded", "Draining", "Unreachable"],
    Busy: ["Idle", "Busy", "Overloaded", "Draining", "Unreachable"],
    Overloaded: ["Idle", "Busy", "Overloaded", "Draining", "Unreachable"],
    Draining: ["Idle", "Draining", "Unreachable"],
    Unreachable: ["Idle", "Unreachable"],
  };
  const all = Object.keys(moves) as WorkerStatus[];
  test.each(all)("from %s", (from) => {
    const allowed = all.filter((to) => {
      const worker = new Worker(0, aWorker("w"));
      worker.status = from;
      try {
        worker.moveTo(to);
      } catch (error) {
        expect(error).toBeInstanceOf(InvariantError);
        expect(worker.status).toBe(from);
        return false;
      }
      return worker.status === to;
    });
    expect(allowed).toEqual(moves[from]);
  });
});

test("[P-08] a worker is Busy while it has something, and Idle otherwise", () => {
  const fleet = fleetWith(1);
  const worker = first(fleet);
  expect(worker.status).toBe("Idle");
  fleet.take(worker, 1, SMALL);
  fleet.take(worker, 2, SMALL);
  fleet.release(worker, 1);
  expect(worker.status).toBe("Busy");
  fleet.release(worker, 2);
  expect(worker.status).toBe("Idle");
});

test("[P-08] a worker is overloaded from one mark on, and until its load falls below a lower one", () => {
  const fleet = fleetWith(1);
  const worker = first(fleet);
  const after = [899, 900, 899, 700, 699, 899].map((load) => {
    fleet.reportLoad(worker, load, false);
    return worker.status;
  });
  expect(after).toEqual(["Idle", "Overloaded", "Overloaded", "Overloaded", "Idle", "Idle"]);
});

test("[P-08] a worker that says so is overloaded, whatever its load, and is Busy again if it has something", () => {
  const fleet = fleetWith(1);
  const worker = first(fleet);
  fleet.take(worker, 1, SMALL);
  fleet.reportLoad(worker, 0, true);
  expect(worker.status).toBe("Overloaded");
  fleet.reportLoad(worker, 0, false);
  expect(worker.status).toBe("Busy");
});

test("[P-08] what an overloaded worker finishes leaves it overloaded, and Idle afterwards", () => {
  const fleet = fleetWith(1);
  const worker = first(fleet);
  fleet.take(worker, 1, SMALL);
  fleet.reportLoad(worker, 1_000, false);
  fleet.release(worker, 1);
  expect(worker.status).toBe("Overloaded");
  fleet.reportLoad(worker, 0, false);
  expect(worker.status).toBe("Idle");
});

test("[P-08] a draining worker finishes what it has and stays draining", () => {
  const fleet = fleetWith(1);
  const worker = first(fleet);
  fleet.take(worker, 1, SMALL);
  fleet.drain(worker);
  fleet.release(worker, 1);
  fleet.reportLoad(worker, 1_000, true);
  expect(worker.status).toBe("Draining");
});

test("[P-08] a worker that registers again begins anew under its number", () => {
  const fleet = fleetWith(2);
  const worker = first(fleet);
  fleet.reportLoad(worker, 950, false);
  fleet.noteExecuted(worker, "build");
  fleet.lose(worker, 1);
  const again = fleet.register(aWorker("w0", { cpuMillicores: 5, slots: 3 }), 9);
  expect(again).toBe(worker);
  expect([worker.number, worker.status, worker.freeCpu, worker.loadPermille, worker.registeredSeq]).toEqual([
    0,
    "Idle",
    5,
    0,
    9,
  ]);
  expect(worker.executed.size).toBe(0);
});

test("[P-08] a worker cannot register again while it holds something", () => {
  const fleet = fleetWith(1);
  fleet.take(first(fleet), 1, SMALL);
  expect(() => fleet.register(aWorker("w0"), 2)).toThrow(InvariantError);
});

test("[P-12] a worker is kept free for one task at a time, and no longer when it is gone", () => {
  const fleet = fleetWith(2);
  fleet.reserve(first(fleet), 1);
  expect(() => fleet.reserve(first(fleet), 2)).toThrow(InvariantError);
  fleet.lose(first(fleet), 1);
  expect([...fleet.reservations.keys()]).toEqual([]);
  const [, second] = fleet.workers as [Worker, Worker];
  fleet.reserve(second, 3);
  fleet.drain(second);
  expect([...fleet.reservations.keys(), second.reservedFor]).toEqual([undefined]);
});

test("[P-05] usage is what workers hold of the room in all their queues", () => {
  const fleet = fleetWith(2, 5);
  const usages = [0, 1, 2, 3, 4, 5].map((key) => {
    fleet.take(fleet.workers[key % 2] as Worker, key, SMALL);
    return fleet.usage;
  });
  expect(usages).toEqual([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
});

test("[P-05] submitters are asked to slow down above one half, not at it", () => {
  const fleet = fleetWith(2, 5);
  for (let key = 0; key < 5; key++) fleet.take(first(fleet), key, SMALL);
  expect(shouldThrottle(fleet)).toBe(false);
  fleet.take(first(fleet), 5, SMALL);
  expect(shouldThrottle(fleet)).toBe(true);
});

test("[P-05] work is accepted below the threshold, not at it, and always without one", () => {
  const fleet = fleetWith(1, 4);
  const accepted = [0, 1, 2, 3, 4, 5].map((key) => {
    const answer = [shouldAccept(fleet, 0.5), shouldAccept(fleet, 1), shouldAccept(fleet, null)];
    fleet.take(first(fleet), key, SMALL);
    return answer.map(Number).join("");
  });
  expect(accepted).toEqual(["111", "111", "011", "011", "001", "001"]);
});

test("[P-05] without workers, or without queues, usage is a number", () => {
  expect(fleetWith(0, 5).usage).toBe(0);
  const fleet = fleetWith(1, 0);
  fleet.take(first(fleet), 1, SMALL);
  expect(fleet.usage).toBe(1);
});

test("[P-05] an unreachable worker gives no room, one that came back does", () => {
  const fleet = fleetWith(2, 2);
  fleet.take(first(fleet), 1, SMALL);
  fleet.lose(fleet.workers[1] as Worker, 1);
  expect(fleet.usage).toBe(0.5);
  fleet.lose(fleet.workers[1] as Worker, 1);
  expect(fleet.usage).toBe(0.5);
  fleet.register(aWorker("w1"), 9);
  expect(fleet.usage).toBe(0.25);
});

test("[P-05] the counters are at any time the sums over the workers", () => {
  const anyMove = fc.record({
    what: fc.constantFrom("take", "take", "release", "lose", "register", "drain"),
    worker: fc.nat(4),
    key: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(anyMove), (moves) => {
      const fleet = fleetWith(3, 2);
      for (const { what, worker: pick, key } of moves) {
        const worker = fleet.named("here", `w${pick}`);
        const isUp = worker?.status === "Idle" || worker?.status === "Busy";
        if (what === "take" && worker && isUp && !worker.held.has(key)) fleet.take(worker, key, SMALL);
        if (what === "release" && worker?.held.has(key)) fleet.release(worker, key);
        if (what === "drain" && worker && isUp) fleet.drain(worker);
        if ((what === "lose" || what === "register") && worker) {
          for (const held of worker.held.keys()) fleet.release(worker, held);
          fleet.lose(worker, 1);
        }
        if (what === "register") fleet.register(aWorker(`w${pick}`), 1);
        const held = fleet.workers.reduce((sum, { queueDepth }) => sum + queueDepth, 0);
        const reachable = fleet.workers.filter(({ status }) => status !== "Unreachable").length;
        expect([fleet.heldTotal, fleet.reachable]).toEqual([held, reachable]);
        expect(fleet.usage).toBe(held / Math.max(1, reachable * 2));
      }
    }),
    { seed: 1, numRuns: 250 },
  );
});

test("of workers that were lost only so many are remembered, and the first lost is the first forgotten", () => {
  const fleet = new Fleet(aConfig({ keepLostWorkers: 2 }));
  for (const [at, id] of ["a", "b", "c", "d", "e"].entries()) fleet.register(aWorker(id), at);
  fleet.lose(fleet.named("here", "c") as Worker, 11);
  fleet.lose(fleet.named("here", "a") as Worker, 12);
  fleet.lose(fleet.named("here", "d") as Worker, 13);
  expect(fleet.known()).toHaveLength(5);
  fleet.register(aWorker("f"), 14);
  expect(fleet.known().map(({ id }) => id)).toEqual(["a", "b", "d", "e", "f"]);
  fleet.settle();
  expect(fleet.sorted.map(({ id }) => id)).toEqual(["a", "b", "d", "e", "f"]);
  expect(fleet.workers[2]?.id).toBe("c");
  const again = fleet.register(aWorker("c"), 15);
  expect(again.number).toBe(6);
  expect(fleet.reachable).toBe(4);
});

test("[F6] of a forgotten worker only its id is left, and in the end not even that", () => {
  const fleet = new Fleet(aConfig({ keepLostWorkers: 2 }));
  for (let at = 0; at < 1_100; at++) {
    const worker = fleet.register(aWorker(`w${at}`, { capabilities: [`type-${at}`] }), 2 * at);
    fleet.lose(worker, 2 * at + 1);
  }
  expect(fleet.known().map(({ id }) => id)).toEqual(["w1097", "w1098", "w1099"]);
  expect(fleet.workers[1_000]).toMatchObject({
    id: "w1000",
    isForgotten: true,
    spec: { id: "w1000", capabilities: [] },
  });
  expect(fleet.workers[0]?.id).toBe("");
  expect(new Set(fleet.workers).size).toBe(1_004);
  fleet.settle();
  expect(fleet.sorted).toHaveLength(3);
});

test("[F6] lost workers are forgotten once their registrations are too large, and then count no more", () => {
  const fleet = new Fleet(aConfig({ keepLostBytes: 4 * 2 ** 20 }));
  const capabilities = Array.from({ length: 1000 }, (_, at) => `type-${at}`.padEnd(60, "x"));
  for (let at = 0; at < 50; at++) fleet.register(aWorker(`w${at}`, { capabilities, key: "k" }), at);
  const { registrations } = fleet;
  expect(registrations.bytes).toBe(registrations.bytesByKey.get("k"));
  expect(registrations.bytes / 50).toBeGreaterThan(200_000);
  for (const worker of [...fleet.workers]) fleet.lose(worker, 50 + worker.number);
  expect([registrations.byKey.size, registrations.byZone.size]).toEqual([0, 0]);
  fleet.register(aWorker("last"), 200);
  expect(fleet.known().length).toBeLessThan(25);
  expect(fleet.known().at(-1)?.id).toBe("last");
  expect(registrations.lostBytes).toBeLessThanOrEqual(4 * 2 ** 20);
  expect(registrations.bytes).toBeLessThan(10_000);
  fleet.register(aWorker("w49"), 201);
  expect(registrations.bytes).toBeLessThan(20_000);
});
