import { existsSync } from "node:fs";
import { Command, Option } from "commander";
import { UsageError } from "./errors.ts";
import { wholeNumber } from "./option-values.ts";
import { isTaskId } from "./service-options.ts";

export interface GanttOptions {
  readonly run?: string;
  readonly by?: "node" | "worker";
  readonly width?: number;
  readonly json?: true;
}

export function ganttCommand(): Command {
  return new Command("gantt")
    .summary("draw what ran when")
    .description("Draw what ran when: a chart of a run, by node or by worker.")
    .argument("<ledger>", "the ledger file")
    .option("--run <id>", "the run (default: the last one)")
    .addOption(
      new Option("--by <what>", "a row for each (default: node up to 40 nodes, else worker)").choices([
        "node",
        "worker",
      ]),
    )
    .option(
      "--width <n>",
      "how many columns (default: those of the terminal, else 100)",
      wholeNumber(40, 1_000),
    )
    .option("--json", "print the rows as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  orrery gantt build.jsonl\n  orrery gantt build.jsonl --by worker --width 160",
    )
    .action(async (path: string, options: GanttOptions) => {
      if (isTaskId(path) && !existsSync(path))
        throw new UsageError(
          `${path} is an id, no ledger; fetch one: orrery ledger server.jsonl && orrery gantt server.jsonl --run ${path}`,
        );
      const { readHistory } = await import("./ledger-history.ts");
      const { chartOf } = await import("./gantt-rows.ts");
      const { drawChart } = await import("./gantt-chart.ts");
      const { printJson, printLines, stdoutColumns, stdoutPalette } = await import("./output.ts");
      const chart = chartOf(await readHistory(path), path, options);
      if (options.json) await printJson(chart);
      else await printLines(drawChart(chart, options.width ?? stdoutColumns(), stdoutPalette()));
    });
}
