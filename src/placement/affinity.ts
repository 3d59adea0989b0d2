import { clearBit, lowestBit, setBit } from "../core/index.ts";
import type { Candidates } from "./candidates.ts";
import { type Choice, onlyChoice } from "./choose.ts";
import { hasPlace, type Needs, takesNoSlot } from "./demand.ts";
import type { Fleet } from "./fleet.ts";
import type { Held, Worker } from "./worker.ts";

/** The inputs of a task that are on workers. */
export interface Inputs {
  /** How many there are, and their bytes together. */
  readonly count: number;
  readonly bytes: number;
  /** By the number of a worker, of these those that it has. */
  readonly at: ReadonlyMap<number, { readonly count: number; readonly bytes: number }>;
  /** How long the likes of the task took, in microseconds; 0: nobody knows yet. */
  readonly micros: number;
  /** The time of the decision. */
  readonly now: number;
  /** The task takes no slot where workers have room for such. */
  readonly io?: boolean | undefined;
}

/** What an input that is there is worth, and one that has to be brought costs, in microseconds. */
export interface Rates {
  readonly perInput: number;
  readonly perKib: number;
}

export const DEFAULT_RATES: Rates = { perInput: 1000, perKib: 10 };

/** How many tasks beyond those that others would get are given to a worker that has their inputs, where another has room. */
const NEAR_QUEUE = 16;

/** One part in so many of a wait is as good as not known. */
const UNSURE_PART = 8;

/**
 * What speaks for a worker, in microseconds: what it has, less what it lacks, less the wait in its queue (D-05). Waits are
 * known to within a task and an eighth of them, so bringing something has to be worth more than that.
 */
function affinityOf(worker: Worker, inputs: Inputs, rates: Rates): number {
  const has = inputs.at.get(worker.number) ?? NOTHING;
  const lacks = { count: inputs.count - has.count, bytes: inputs.bytes - has.bytes };
  const wait = waitOf(worker, inputs);
  const unsure = inputs.micros + Math.floor(wait / UNSURE_PART);
  const brought = lacks.count === 0 ? 0 : bringMicros(lacks, rates) + unsure;
  return bringMicros(has, rates) - brought - wait;
}

const NOTHING = { count: 0, bytes: 0 };

/** How long it takes to bring results to a worker; as much speaks for one that has them. */
export function bringMicros(of: typeof NOTHING, { perInput, perKib }: Rates): number {
  return of.count * perInput + Math.floor((of.bytes * perKib) / 1024);
}

/** What bringing the inputs that a worker lacks takes, in microseconds. */
export function moveMicros(worker: Worker, inputs: Inputs, rates: Rates): number {
  const has = inputs.at.get(worker.number) ?? NOTHING;
  return bringMicros({ count: inputs.count - has.count, bytes: inputs.bytes - has.bytes }, rates);
}

/** What a worker has of the inputs, what it would have to fetch, how long it would wait, and what that comes to. */
export interface DataTerms {
  readonly heldBytes: number;
  readonly movedBytes: number;
  readonly waitMicros: number;
  readonly affinityMicros: number;
}

export function termsOf(worker: Worker, inputs: Inputs, rates: Rates): DataTerms {
  const { bytes } = inputs.at.get(worker.number) ?? NOTHING;
  return {
    heldBytes: bytes,
    movedBytes: inputs.bytes - bytes,
    waitMicros: waitOf(worker, inputs),
    affinityMicros: affinityOf(worker, inputs, rates),
  };
}

/** Whether it may queue a task because it has inputs, however long its queue may be otherwise. */
export function mayQueueNear({ config }: Fleet, worker: Worker, needs: Needs, { at }: Inputs): boolean {
  const { number, reservedFor, freeCpu, freeMemory } = worker;
  const fits = freeCpu >= needs.cpuMillicores && freeMemory >= needs.memoryBytes;
  const mayQueue =
    !takesNoSlot(worker, needs) && hasPlace(worker, true, config.maxQueuePerWorker + NEAR_QUEUE);
  return fits && at.has(number) && mayQueue && reservedFor === undefined;
}

/** Until it has a slot free, if what it holds takes as long as expected. */
function waitOf(worker: Worker, { now, io }: Pick<Inputs, "now" | "io">): number {
  const { held, spec, inSlots } = worker;
  if (inSlots < spec.slots || takesNoSlot(worker, { io })) return 0;
  let sum = 0;
  let running = spec.slots;
  for (const one of held.values())
    if (!one.io) sum += remainingOf(one, running-- > 0 ? worker : undefined, now);
  return Math.floor(sum / spec.slots);
}

/**
 * Until it has ended all that it holds, in microseconds. It may have worked on all of it since it last reported: short tasks are
 * reported together.
 */
export function busyMicros({ held, spec, finishedAt }: Worker, now: number): number {
  const all = [...held.values()].filter(({ io }) => !io);
  const [first] = all;
  if (!first) return 0;
  let sum = 0;
  for (const { micros, expectedEndMs } of all) sum += micros ?? 1000 * Math.max(0, expectedEndMs - now);
  const elapsed = 1000 * (now - Math.max(finishedAt, first.since ?? now));
  return Math.max(0, Math.floor(sum / spec.slots) - elapsed);
}

/**
 * What waits behind what runs takes as long as the likes of it. What runs has done so since another ended, and what has run
 * for longer than expected is expected to run as long again.
 */
function remainingOf({ since, micros, expectedEndMs }: Held, on: Worker | undefined, now: number): number {
  if (since === undefined || micros === undefined) return 1000 * Math.max(0, expectedEndMs - now);
  if (!on) return micros;
  const elapsed = 1000 * (now - Math.max(since, on.finishedAt));
  return Math.max(micros - elapsed, Math.min(elapsed, 1000 * MAX_EXPECTED_MS));
}

const MAX_EXPECTED_MS = 3_600_000;

/** The candidate with the highest affinity; those that have inputs may queue the task, where others have room. */
export function chooseNear(fleet: Fleet, candidates: Candidates, inputs: Inputs, rates: Rates): Choice {
  const queue = fleet.config.maxQueuePerWorker + NEAR_QUEUE;
  for (const number of inputs.at.keys()) candidates.addQueued(fleet, fleet.workers[number] as Worker, queue);
  return nearestOf(fleet, candidates, inputs, rates);
}

/** The same, of the candidates alone. */
export function nearestOf(fleet: Fleet, candidates: Candidates, inputs: Inputs, rates: Rates): Choice {
  if (candidates.count === 1) return onlyChoice(fleet, candidates);
  const worker = nearest(fleet, candidates.set, inputs, rates);
  clearBit(candidates.set, fleet.ordinalOf(worker));
  const runnerUp = nearest(fleet, candidates.set, inputs, rates);
  setBit(candidates.set, fleet.ordinalOf(worker));
  const { affinityMicros, ...terms } = termsOf(worker, inputs, rates);
  const leadMicros = affinityMicros - affinityOf(runnerUp, inputs, rates);
  return { worker, runnerUp, reason: { type: "DataAffinity", ...terms, leadMicros } };
}

/** Ties fall to the smaller id. */
function nearest(fleet: Fleet, set: Uint32Array, inputs: Inputs, rates: Rates): Worker {
  let best: Worker | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (let word = 0; word < set.length; word++) {
    for (let bits = set[word] as number; bits !== 0; bits &= bits - 1) {
      const worker = fleet.sorted[(word << 5) | lowestBit(bits)] as Worker;
      const affinity = affinityOf(worker, inputs, rates);
      if (affinity <= most) continue;
      best = worker;
      most = affinity;
    }
  }
  return best as Worker;
}
