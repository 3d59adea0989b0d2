import { Command } from "commander";
import { CheckFailed } from "./errors.ts";

export function verifyCommand(): Command {
  return new Command("verify")
    .summary("check that a ledger is what was written")
    .description(
      "Check that a ledger is what was written: its hash chain, its end, that it can be replayed, and the snapshot beside it.",
    )
    .argument("<ledger>", "the ledger file")
    .option("--redecide", "feed the recorded inputs to the scheduler again and demand the same decisions")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nExit code: 0 if it is sound, 1 if not, 3 if there is no such file.\n\nExamples:\n  orrery verify build.jsonl\n  orrery verify build.jsonl --redecide --json",
    )
    .action(async (path: string, options: { redecide?: true; json?: true }) => {
      const { verifyLedger } = await import("./verification.ts");
      const { renderVerification, warningsOf } = await import("./verification-text.ts");
      const { printJson, printLines, stdoutColumns, stdoutPalette, warn } = await import("./output.ts");
      const result = await verifyLedger(path, options.redecide === true);
      for (const warning of warningsOf(result)) warn(warning);
      if (options.json) await printJson(result);
      else await printLines(renderVerification(result, stdoutColumns(), stdoutPalette()));
      if (!result.ok) throw new CheckFailed();
    });
}
