import { type Levels, levelsOf } from "./levels.ts";
import type { Problem } from "./problem.ts";

/** Beyond it, every pair of a head and a tail would take too long. */
const ALL_PAIRS = 3_000;

/** A makespan that no schedule can go below. */
export function lowerBound(problem: Problem, levels: Levels = levelsOf(problem)): number {
  let bound = levels.longest;
  for (let r = 0; r < problem.resources.length; r++) {
    bound = Math.max(bound, energyBound(problem, levels, r));
  }
  return bound;
}

/**
 * What a resource has to give takes time: all that can only start after a head, and behind which a tail remains, takes
 * head + work / capacity + tail.
 */
function energyBound(problem: Problem, { heads, tails }: Levels, resource: number): number {
  const capacity = problem.capacities[resource] as number;
  const users = usersOf(problem, resource);
  const byTail = users.toSorted((a, b) => (tails[b] as number) - (tails[a] as number));
  const byHead = [...new Set(users.map((n) => heads[n] as number))].sort((a, b) => b - a);
  const sparse = users.length > ALL_PAIRS;
  let bound = 0;
  for (const head of sparse ? [0] : byHead) {
    let work = 0;
    for (const n of byTail) {
      if ((heads[n] as number) < head) continue;
      work += workOf(problem, resource, n);
      bound = Math.max(bound, head + Math.ceil(work / capacity) + (tails[n] as number));
    }
  }
  if (sparse) bound = Math.max(bound, headBound(problem, heads, resource, users));
  return bound;
}

/** The same with all heads, but without tails. */
function headBound(
  problem: Problem,
  heads: Float64Array,
  resource: number,
  users: readonly number[],
): number {
  let bound = 0;
  let work = 0;
  for (const n of users.toSorted((a, b) => (heads[b] as number) - (heads[a] as number))) {
    work += workOf(problem, resource, n);
    bound = Math.max(
      bound,
      (heads[n] as number) + Math.ceil(work / (problem.capacities[resource] as number)),
    );
  }
  return bound;
}

function workOf({ durations, demands, resources }: Problem, resource: number, n: number): number {
  return (durations[n] as number) * (demands[n * resources.length + resource] as number);
}

/** Who uses a resource. What runs already counts only if there is enough for all of it: otherwise it takes more than there is. */
function usersOf(problem: Problem, resource: number): number[] {
  const { size, running, capacities, demands, resources } = problem;
  const demandOf = (n: number) => demands[n * resources.length + resource] as number;
  let taken = 0;
  for (let n = 0; n < running; n++) taken += demandOf(n);
  const users: number[] = [];
  for (let n = taken > (capacities[resource] as number) ? running : 0; n < size; n++) {
    if (demandOf(n) > 0 && (problem.durations[n] as number) > 0) users.push(n);
  }
  return users;
}
