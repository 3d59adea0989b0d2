import { hasBit } from "../core/index.ts";
import { type Demand, hasPlace, type Needs, takesNoSlot } from "./demand.ts";
import type { Fleet } from "./fleet.ts";
import type { Held, Worker } from "./worker.ts";

export interface Opening {
  readonly worker: Worker;
  readonly freeAt: number;
}

/**
 * The worker that should have room for the needs first, by the estimates of what it holds; ties fall to the
 * smaller id. Only workers that take work and are not kept for another task count.
 */
export function firstOpening(fleet: Fleet, demand: Demand, now: number): Opening | undefined {
  fleet.refresh(demand);
  const { needs, serves } = demand;
  let best: Opening | undefined;
  for (const [ordinal, worker] of fleet.sorted.entries()) {
    if (!hasBit(serves, ordinal) || !hasBit(fleet.open, ordinal) || hasBit(fleet.reserved, ordinal)) continue;
    if (worker.spec.cpuMillicores < needs.cpuMillicores || worker.spec.memoryBytes < needs.memoryBytes)
      continue;
    if (best !== undefined && notBefore(fleet, worker, needs, now) >= best.freeAt) continue;
    const freeAt = roomAt(fleet, worker, needs, now);
    if (best === undefined || freeAt < best.freeAt) best = { worker, freeAt };
  }
  return best;
}

/** A bound that costs no sorting: what does not fit now waits at least for the first of what is held to end. */
function notBefore(fleet: Fleet, worker: Worker, needs: Needs, now: number): number {
  if (fits(fleet, worker, needs, worker)) return now;
  let earliest = Number.POSITIVE_INFINITY;
  for (const held of worker.held.values()) if (held.expectedEndMs < earliest) earliest = held.expectedEndMs;
  return Math.max(earliest, now);
}

/** What ends first gives back first. An estimate that has passed counts as "any moment now". */
function roomAt(fleet: Fleet, worker: Worker, needs: Needs, now: number): number {
  const { spec, freeCpu, freeMemory, inSlots, io } = worker;
  const room = { spec, freeCpu, freeMemory, inSlots, io };
  let at = now;
  for (const held of [...worker.held.values()].sort(byExpectedEnd)) {
    if (fits(fleet, worker, needs, room)) break;
    at = Math.max(at, held.expectedEndMs);
    room.freeCpu += held.cpuMillicores;
    room.freeMemory += held.memoryBytes;
    if (held.io) room.io--;
    else room.inSlots--;
  }
  return at;
}

type Room = Pick<Worker, "spec" | "freeCpu" | "freeMemory" | "inSlots" | "io">;

function fits({ config }: Fleet, worker: Worker, needs: Needs, room: Room): boolean {
  return (
    room.freeCpu >= needs.cpuMillicores &&
    room.freeMemory >= needs.memoryBytes &&
    hasPlace(room, !takesNoSlot(worker, needs), config.maxQueuePerWorker)
  );
}

function byExpectedEnd(a: Held, b: Held): number {
  return a.expectedEndMs - b.expectedEndMs;
}
