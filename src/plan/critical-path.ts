import { compareText } from "../core/index.ts";
import type { Levels } from "./levels.ts";
import type { Problem } from "./problem.ts";
import type { Project } from "./project.ts";

/** b-level: from the start of an activity to the end of the longest chain that hangs on it. */
export function holdsUp({ durations }: Problem, { tails }: Levels, n: number): number {
  return (durations[n] as number) + (tails[n] as number);
}

/** What orders those that are equally urgent, as in the live scheduler: twice the chain behind it, and its own time. */
export function weightOf({ durations }: Problem, { tails }: Levels, n: number): number {
  return (durations[n] as number) + 2 * (tails[n] as number);
}

/** By how much it can be late without making the longest chain longer. */
export function slackOf(problem: Problem, levels: Levels, n: number): number {
  return levels.longest - (levels.heads[n] as number) - holdsUp(problem, levels, n);
}

/** The longest chain; of equally long ones that with the smaller ids. Empty where nothing takes time. */
export function longestChain(project: Project, problem: Problem, levels: Levels): number[] {
  const { activity, neededBy, size } = problem;
  const idOf = (n: number): string => project.activities[activity[n] as number]?.id ?? "";
  const longest = (candidates: Iterable<number>): number | undefined => {
    let best: number | undefined;
    for (const n of candidates) {
      const lead = best === undefined ? 1 : holdsUp(problem, levels, n) - holdsUp(problem, levels, best);
      if (lead > 0 || (lead === 0 && compareText(idOf(n), idOf(best as number)) < 0)) best = n;
    }
    return best;
  };
  const chain: number[] = [];
  let next = levels.longest === 0 ? undefined : longest(Array.from({ length: size }, (_, n) => n));
  while (next !== undefined) {
    chain.push(next);
    next = longest(neededBy.targets.subarray(neededBy.start[next], neededBy.start[next + 1]));
  }
  return chain;
}
