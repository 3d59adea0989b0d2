import type { Problem } from "./problem.ts";

export interface Levels {
  /** How long the longest chain before each activity takes: it cannot start earlier. */
  readonly heads: Float64Array;
  /** How long the longest chain behind each takes: so much must remain when it ends. */
  readonly tails: Float64Array;
  /** The length of the longest chain. */
  readonly longest: number;
}

export function levelsOf({ size, running, durations, needs, neededBy }: Problem): Levels {
  const heads = new Float64Array(size);
  const tails = new Float64Array(size);
  let longest = 0;
  for (let n = running; n < size; n++) {
    for (let edge = needs.start[n] as number; edge < (needs.start[n + 1] as number); edge++) {
      const need = needs.targets[edge] as number;
      heads[n] = Math.max(heads[n] as number, (heads[need] as number) + (durations[need] as number));
    }
  }
  for (let n = size - 1; n >= 0; n--) {
    for (let edge = neededBy.start[n] as number; edge < (neededBy.start[n + 1] as number); edge++) {
      const dependent = neededBy.targets[edge] as number;
      const tail = (tails[dependent] as number) + (durations[dependent] as number);
      tails[n] = Math.max(tails[n] as number, tail);
    }
    longest = Math.max(longest, (heads[n] as number) + (durations[n] as number) + (tails[n] as number));
  }
  return { heads, tails, longest };
}
