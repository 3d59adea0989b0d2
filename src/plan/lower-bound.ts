import { KeyOrder } from "./key-order.ts";
import { type Levels, levelsOf } from "./levels.ts";
import type { Problem } from "./problem.ts";
import { Refutation } from "./refutation.ts";

/** Beyond it, every pair of a head and a tail would take too long. */
const ALL_PAIRS = 3_000;
/** Beyond it, looking at every pair of activities again and again would take too long. */
const MOST_PAIRED = 150;

/** A makespan that no schedule can go below, and what makes it so. */
export interface Bound {
  readonly length: number;
  readonly by: BoundCause;
}

/** The longest chain; what runs already; the work on a resource; or that too much cannot run side by side. */
export type BoundCause =
  | { readonly code: "critical-path" | "running" | "refutation" }
  | { readonly code: "resource"; readonly resource: string };

/** Of several that are equal, the first of these counts. */
export function lowerBound(problem: Problem, plain: Levels = levelsOf(problem)): Bound {
  const { resources, running, size } = problem;
  const levels = running > 0 ? afterRunning(problem, plain) : plain;
  let length = levels.longest;
  let by: BoundCause = { code: length > plain.longest ? "running" : "critical-path" };
  const sorted = new KeyOrder(resources.length > 0 ? size : 0);
  const byTail = sorted.sort(levels.tails).toReversed();
  const byHead = sorted.sort(levels.heads).toReversed();
  for (const [r, resource] of resources.entries()) {
    const isUser = usersOf(problem, r);
    const energy = energyBound(problem, levels, r, byHead.filter(isUser), byTail.filter(isUser));
    if (energy <= length) continue;
    length = energy;
    by = { code: "resource", resource };
  }
  if (size > MOST_PAIRED || length === 0) return { length, by };
  const refuted = refutedBound(problem, levels, length);
  return refuted > length ? { length: refuted, by: { code: "refutation" } } : { length, by };
}

/** Nothing starts before what runs already has left enough for it, and what follows it starts so much later. */
function afterRunning(problem: Problem, { heads: plain, tails }: Levels): Levels {
  const { size, running, durations, needs, resources } = problem;
  const heads = plain.slice();
  const roomAt = resources.map((_, r) => roomAfterRunning(problem, r));
  let longest = 0;
  for (let n = 0; n < size; n++) {
    let head = heads[n] as number;
    if (n >= running) for (const at of roomAt) head = Math.max(head, at(n));
    for (let edge = needs.start[n] as number; edge < (needs.start[n + 1] as number); edge++) {
      const need = needs.targets[edge] as number;
      head = Math.max(head, (heads[need] as number) + (durations[need] as number));
    }
    heads[n] = head;
    longest = Math.max(longest, head + (durations[n] as number) + (tails[n] as number));
  }
  return { heads, tails, longest };
}

/** For an activity, the first moment at which what runs leaves as much of a resource as it needs. */
function roomAfterRunning(problem: Problem, resource: number): (n: number) => number {
  const { running, durations, capacities, demands, resources } = problem;
  const demandOf = (n: number) => demands[n * resources.length + resource] as number;
  const byEnd = Array.from({ length: running }, (_, n) => n).sort(
    (a, b) => (durations[a] as number) - (durations[b] as number),
  );
  const taken = byEnd.reduce((sum, n) => sum + demandOf(n), 0);
  return (n) => {
    const demand = demandOf(n);
    // What takes no time takes nothing from anyone.
    if (demand === 0 || durations[n] === 0) return 0;
    let free = (capacities[resource] as number) - taken;
    let at = 0;
    for (const ending of byEnd) {
      if (free >= demand) break;
      free += demandOf(ending);
      at = durations[ending] as number;
    }
    return at;
  };
}

/** Looks by halves for the longest that can be refuted. */
function refutedBound(problem: Problem, levels: Levels, bound: number): number {
  const refutation = new Refutation(problem, levels);
  let possible = problem.durations.reduce((sum, duration) => sum + duration, 0);
  let refuted = bound - 1;
  for (let step = 1; refuted + 1 < possible; ) {
    const length = Math.min(refuted + step, Math.floor((refuted + possible) / 2));
    if (refutation.refutes(length)) {
      refuted = length;
      step *= 2;
    } else {
      possible = length;
      step = 1;
    }
  }
  return refuted + 1;
}

/**
 * What a resource has to give takes time: all that can only start after a head, and behind which a tail remains, takes
 * head + work / capacity + tail. Who comes latest, or has most behind it, comes first in the orders.
 */
function energyBound(
  problem: Problem,
  { heads, tails }: Levels,
  resource: number,
  byHead: Uint32Array,
  byTail: Uint32Array,
): number {
  const capacity = problem.capacities[resource] as number;
  let bound = 0;
  let behind = 0;
  for (const n of byHead) {
    behind += workOf(problem, resource, n);
    bound = Math.max(bound, (heads[n] as number) + Math.ceil(behind / capacity));
  }
  const firsts = byTail.length > ALL_PAIRS ? [0] : new Set(Array.from(byHead, (n) => heads[n] as number));
  for (const head of firsts) {
    let work = 0;
    for (const n of byTail) {
      if ((heads[n] as number) < head) continue;
      work += workOf(problem, resource, n);
      bound = Math.max(bound, head + Math.ceil(work / capacity) + (tails[n] as number));
    }
  }
  return bound;
}

function workOf({ durations, demands, resources }: Problem, resource: number, n: number): number {
  return (durations[n] as number) * (demands[n * resources.length + resource] as number);
}

/**
 * Whether an activity's work counts. What runs already does only if there is enough for all of it: otherwise it takes
 * more than there is.
 */
function usersOf(problem: Problem, resource: number): (n: number) => boolean {
  const { running, capacities, demands, resources } = problem;
  const demandOf = (n: number) => demands[n * resources.length + resource] as number;
  let taken = 0;
  for (let n = 0; n < running; n++) taken += demandOf(n);
  const first = taken > (capacities[resource] as number) ? running : 0;
  return (n) => n >= first && workOf(problem, resource, n) > 0;
}
