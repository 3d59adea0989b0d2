import { Command } from "commander";
import { sequence } from "./option-values.ts";

export function whyCommand(): Command {
  return new Command("why")
    .summary("say why a node ran where it did, or why it does not run yet")
    .description(
      "Say why a node ran where it did, with all candidates and what came of it; or why it does not run yet.",
    )
    .argument("<ledger>", "the ledger file")
    .argument("<node>", "the id of a node")
    .option("--run <id>", "the run (default: the last one that has the node)")
    .option("--at <seq>", "ask about the moment after this event (default: the last one)", sequence)
    .option("--json", "print the answer as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  orrery why build.jsonl report\n  orrery why build.jsonl report --at 120 --json",
    )
    .action(async (path: string, node: string, options: { run?: string; at?: number; json?: true }) => {
      const { explain } = await import("./explanation.ts");
      const { explanationJson, renderExplanation } = await import("./explanation-text.ts");
      const { printJson, printLines, stdoutColumns, stdoutPalette } = await import("./output.ts");
      const answer = await explain(path, node, options);
      if (options.json) await printJson(explanationJson(answer));
      else await printLines(renderExplanation(answer, stdoutColumns(), stdoutPalette()));
    });
}
