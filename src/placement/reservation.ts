import { couldEverRun, type Needs } from "./demand.ts";
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
export function firstOpening(fleet: Fleet, needs: Needs, now: number): Opening | undefined {
  fleet.settle();
  let best: Opening | undefined;
  for (const worker of fleet.sorted) {
    if (worker.status !== "Idle" && worker.status !== "Busy") continue;
    if (worker.reservedFor !== undefined || !couldEverRun(worker, needs)) continue;
    const freeAt = roomAt(fleet, worker, needs, now);
    if (best === undefined || freeAt < best.freeAt) best = { worker, freeAt };
  }
  return best;
}

/** What ends first gives back first. An estimate that has passed counts as "any moment now". */
function roomAt(fleet: Fleet, worker: Worker, needs: Needs, now: number): number {
  let { freeCpu, freeMemory, queueDepth } = worker;
  let at = now;
  const limit = worker.spec.slots + fleet.config.maxQueuePerWorker;
  const fits = () => freeCpu >= needs.cpuMillicores && freeMemory >= needs.memoryBytes && queueDepth < limit;
  for (const held of [...worker.held.values()].sort(byExpectedEnd)) {
    if (fits()) break;
    at = Math.max(at, held.expectedEndMs);
    freeCpu += held.cpuMillicores;
    freeMemory += held.memoryBytes;
    queueDepth--;
  }
  return at;
}

function byExpectedEnd(a: Held, b: Held): number {
  return a.expectedEndMs - b.expectedEndMs;
}
