import { Command } from "commander";
import { sequence } from "./option-values.ts";

export function replayCommand(): Command {
  return new Command("replay")
    .summary("show the scheduler's state at any event of a ledger")
    .description("Rebuild the scheduler's state from a ledger, as it was after any of its events.")
    .argument("<ledger>", "the ledger file")
    .option("--to <seq>", "the last event to apply (default: the last one there is)", sequence)
    .option("--nodes", "list the nodes of every run too")
    .option("--json", "print the state as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  orrery replay build.jsonl\n  orrery replay build.jsonl --to 1200 --json",
    )
    .action(async (path: string, options: { to?: number; nodes?: true; json?: true }) => {
      const { replayTo, summarize } = await import("./state-summary.ts");
      const { renderSummary } = await import("./state-text.ts");
      const { printJson, printLines, stdoutColumns, stdoutPalette } = await import("./output.ts");
      const { state } = await replayTo(path, options.to);
      const summary = summarize(state, options.nodes === true);
      if (options.json) await printJson(summary);
      else await printLines(renderSummary(path, summary, stdoutColumns(), stdoutPalette()));
    });
}
