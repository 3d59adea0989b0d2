import { clearBit, hasBit, hash32, lowestBit, mix32 } from "../core/index.ts";
import type { Candidates } from "./candidates.ts";
import type { Fleet } from "./fleet.ts";
import type { Reason } from "./reason.ts";
import type { Worker } from "./worker.ts";

/** What the choice between candidates may depend on besides the workers. */
export interface Subject {
  readonly nodeId: string;
  readonly type: string;
  readonly zone: string;
  /** Points for the inputs that a worker holds, by its number; undefined where nothing is held anywhere. */
  readonly locality: ReadonlyMap<number, number> | undefined;
}

export interface Choice {
  readonly worker: Worker;
  readonly runnerUp: Worker | undefined;
  readonly reason: Reason;
}

/** The best candidate by the strategy, the next best, and what made the difference. */
export function choose(fleet: Fleet, candidates: Candidates, subject: Subject): Choice {
  if (candidates.count === 1) return onlyChoice(fleet, candidates);
  const first = best(fleet, candidates.set, subject);
  const worker = fleet.sorted[first] as Worker;
  clearBit(candidates.set, first);
  const runnerUp = fleet.sorted[best(fleet, candidates.set, subject)] as Worker;
  return { worker, runnerUp, reason: reasonFor(fleet, worker, runnerUp, subject) };
}

const ONLY_WORKER: Reason = { type: "OnlyWorkerAvailable" };

/** Where there is one candidate, nothing about the task matters. */
export function onlyChoice(fleet: Fleet, { set, available, requiredCpu }: Candidates): Choice {
  let word = 0;
  while (set[word] === 0) word++;
  const only = (word << 5) | lowestBit(set[word] as number);
  const reason: Reason =
    available === 1 ? ONLY_WORKER : { type: "ResourceFit", availableCpu: fleet.freeCpu(only), requiredCpu };
  return { worker: fleet.sorted[only] as Worker, runnerUp: undefined, reason };
}

function best(fleet: Fleet, set: Uint32Array, subject: Subject): number {
  switch (fleet.config.strategy) {
    case "least-loaded":
      return leastLoaded(fleet, preferred(fleet, set, subject));
    case "round-robin":
      return nextInTurn(fleet, preferred(fleet, set, subject));
    case "random":
      return highestScore(fleet, preferred(fleet, set, subject), subject.nodeId);
    case "affinity":
      return mostAffine(fleet, set, subject);
  }
}

function leastLoaded(fleet: Fleet, set: Uint32Array): number {
  const { least, levels } = fleet.depths;
  for (let depth = least; depth < levels.length; depth++) {
    const level = levels[depth] as Uint32Array;
    for (let word = 0; word < set.length; word++) {
      const both = (level[word] as number) & (set[word] as number);
      if (both !== 0) return (word << 5) | lowestBit(both);
    }
  }
  return -1;
}

function nextInTurn(fleet: Fleet, set: Uint32Array): number {
  const from = fleet.cursor ? fleet.ordinalOf(fleet.cursor) + 1 : 0;
  const start = from >>> 5;
  for (let step = 0; step <= set.length; step++) {
    const word = (start + step) % set.length;
    let bits = set[word] as number;
    if (step === 0) bits &= -1 << (from & 31);
    if (bits !== 0) return (word << 5) | lowestBit(bits);
  }
  return -1;
}

/**
 * Every candidate gets a score from its id and the node's, and the highest wins. So the choice depends on
 * the whole set of candidates, and one worker more or less moves only the nodes that it wins or held.
 */
function highestScore(fleet: Fleet, set: Uint32Array, nodeId: string): number {
  let top = -1;
  let topScore = -1;
  const nodeHash = hash32(nodeId, fleet.config.seed);
  eachBit(set, (ordinal) => {
    const score = mix32(nodeHash ^ (fleet.sorted[ordinal] as Worker).idHash);
    if (score > topScore) {
      topScore = score;
      top = ordinal;
    }
  });
  return top;
}

export function randomScore(fleet: Fleet, worker: Worker, nodeId: string): number {
  return mix32(hash32(nodeId, fleet.config.seed) ^ worker.idHash);
}

function mostAffine(fleet: Fleet, set: Uint32Array, subject: Subject): number {
  const local = mostLocal(fleet, set, subject);
  const before = narrowed(local, fleet.executed(subject.type));
  return leastLoaded(fleet, narrowed(before, fleet.home(subject.zone)));
}

function mostLocal(fleet: Fleet, set: Uint32Array, { locality }: Subject): Uint32Array {
  let most = 0;
  let holders: number[] = [];
  for (const [number, points] of locality ?? []) {
    const ordinal = fleet.ordinalOf(fleet.workers[number] as Worker);
    if (points < most || points === 0 || !hasBit(set, ordinal)) continue;
    holders = points > most ? [ordinal] : [...holders, ordinal];
    most = points;
  }
  return holders.length === 0 ? set : only(set.length, holders);
}

/** With `preferLocality`, the candidates that hold input data where there are any. */
function preferred(fleet: Fleet, set: Uint32Array, { locality }: Subject): Uint32Array {
  if (!fleet.config.preferLocality || !locality) return set;
  const holders: number[] = [];
  for (const [number, points] of locality) {
    const ordinal = fleet.ordinalOf(fleet.workers[number] as Worker);
    if (points > 0 && hasBit(set, ordinal)) holders.push(ordinal);
  }
  return holders.length === 0 ? set : only(set.length, holders);
}

function only(words: number, ordinals: readonly number[]): Uint32Array {
  const set = new Uint32Array(words);
  for (const ordinal of ordinals) (set[ordinal >>> 5] as number) |= 1 << (ordinal & 31);
  return set;
}

/** The members that have the attribute, or all of them if none has. */
function narrowed(set: Uint32Array, attribute: Uint32Array): Uint32Array {
  const both = set.map((word, at) => word & (attribute[at] as number));
  return both.some((word) => word !== 0) ? both : set;
}

function eachBit(set: Uint32Array, visit: (bit: number) => void): void {
  for (let word = 0; word < set.length; word++) {
    for (let bits = set[word] as number; bits !== 0; bits &= bits - 1) visit((word << 5) | lowestBit(bits));
  }
}

function reasonFor(fleet: Fleet, worker: Worker, runnerUp: Worker, subject: Subject): Reason {
  const { strategy, preferLocality } = fleet.config;
  const points = (one: Worker) => subject.locality?.get(one.number) ?? 0;
  if (preferLocality && points(worker) > 0 && points(runnerUp) === 0) {
    return { type: "Affinity", because: "DataLocality" };
  }
  switch (strategy) {
    case "round-robin":
      return { type: "RoundRobin", index: fleet.ordinalOf(worker) };
    case "random":
      return { type: "Random", hash: randomScore(fleet, worker, subject.nodeId) };
    case "least-loaded":
      return { type: "LeastLoaded", queueDepth: worker.queueDepth };
    case "affinity": {
      const knows = (one: Worker) => one.executed.has(subject.type);
      const atHome = (one: Worker) => one.spec.zone === subject.zone;
      if (points(worker) > points(runnerUp)) return { type: "Affinity", because: "DataLocality" };
      if (knows(worker) && !knows(runnerUp)) return { type: "Affinity", because: "PreviouslyExecuted" };
      if (atHome(worker) && !atHome(runnerUp)) return { type: "Affinity", because: "SameZone" };
      return { type: "LeastLoaded", queueDepth: worker.queueDepth };
    }
  }
}
