import { type ConfigProblem, type Origin, originText } from "./origin.ts";
import type { Settings } from "./table.ts";

/** What each value may be, and not both together. */
export function combinationProblems(
  { speculation }: Settings,
  origins: ReadonlyMap<string, Origin>,
): ConfigProblem[] {
  const { defaultParallelism, maxParallelism } = speculation;
  const problems: ConfigProblem[] = [];
  const refuse = (paths: readonly string[], message: string): void => {
    const given = paths
      .map((path) => origins.get(path))
      .find((origin) => origin && origin.kind !== "default");
    problems.push({ where: given ? originText(given) : "default", message });
  };
  if (defaultParallelism > maxParallelism) {
    refuse(
      ["speculation.default_parallelism", "speculation.max_parallelism"],
      `speculation.default_parallelism (${defaultParallelism}) must not be more than max_parallelism (${maxParallelism}); raise the one or lower the other`,
    );
  }
  return problems;
}
