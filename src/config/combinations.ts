import { type ConfigProblem, type Origin, originText } from "./origin.ts";
import type { Settings } from "./table.ts";

/** What each value may be, and not both together. */
export function combinationProblems(
  { speculation, placement }: Settings,
  origins: ReadonlyMap<string, Origin>,
  refused: readonly ConfigProblem[],
): ConfigProblem[] {
  const { defaultParallelism, maxParallelism } = speculation;
  const problems: ConfigProblem[] = [];
  const refuse = (paths: readonly string[], message: string): void => {
    // In place of a value that was refused stands the default, which nobody wrote.
    if (refused.some((problem) => paths.some((path) => problem.message.startsWith(path)))) return;
    const given = paths
      .map((path) => origins.get(path))
      .find((origin) => origin && origin.kind !== "default");
    problems.push({ where: given && originText(given), message });
  };
  if (defaultParallelism > maxParallelism) {
    refuse(
      ["speculation.default_parallelism", "speculation.max_parallelism"],
      `speculation.default_parallelism (${defaultParallelism}) must not be more than max_parallelism (${maxParallelism}); raise the one or lower the other`,
    );
  }
  if (placement.relievedBelowPermille > placement.overloadedAtPermille) {
    refuse(
      ["placement.relieved_below", "placement.overloaded_at"],
      `placement.relieved_below (${placement.relievedBelowPermille / 1000}) must not be more than overloaded_at (${placement.overloadedAtPermille / 1000}); lower the one or raise the other`,
    );
  }
  return problems;
}
