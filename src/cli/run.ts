import { Command, Option } from "commander";
import type { Strategy } from "../placement/index.ts";
import { CheckFailed, CliError } from "./errors.ts";
import { wholeNumber } from "./option-values.ts";

export interface RunOptions {
  readonly workers?: number;
  readonly strategy: Strategy;
  readonly seed?: number;
  readonly ledger?: string;
  readonly resume: boolean;
  readonly failFast: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
}

/** Named here once more, so that showing the help loads nothing of the scheduler. */
const STRATEGIES: Readonly<Record<Strategy, true>> = {
  "round-robin": true,
  "least-loaded": true,
  random: true,
  affinity: true,
};

export function runCommand(): Command {
  return new Command("run")
    .summary("run a graph of tasks on this machine")
    .description(
      "Run the graph in FILE (YAML or JSON) on local workers, and record every decision in a ledger.",
    )
    .argument("<file>", "the graph")
    .option(
      "-w, --workers <n>",
      "how many tasks at once (default: the number of cores)",
      wholeNumber(1, 1024),
    )
    .addOption(
      new Option("--strategy <name>", "how workers are chosen")
        .choices(Object.keys(STRATEGIES))
        .default("least-loaded"),
    )
    .option(
      "--seed <n>",
      "make the run's id and the random strategy reproducible",
      wholeNumber(0, 2 ** 32 - 1),
    )
    .option("--ledger <file>", "where to record (default: .orrery/<name>.jsonl)")
    .option("--resume", "skip what the ledger says is done", false)
    .option("--keep-going", "when a node fails, run all that does not depend on it (default)")
    .addOption(
      new Option("--fail-fast", "when a node fails, cancel the rest").default(false).conflicts("keepGoing"),
    )
    .option("-q, --quiet", "say only what went wrong", false)
    .option("--json", "print the result as JSON", false)
    .addHelpText("after", EXAMPLES)
    .action(async (file: string, options: RunOptions) => {
      const { runFile } = await import("./run-file.ts");
      const result = await runFile(file, options);
      if (result.exitCode === 1) throw new CheckFailed();
      if (result.exitCode !== 0) throw new CliError("", result.exitCode);
    });
}

const EXAMPLES = `
Examples:
  orrery run build.yaml                    run it on all cores
  orrery run build.yaml --resume           go on where it stopped, or failed
  orrery run build.yaml -w 4 --json | jq   four at once, the result as JSON`;
