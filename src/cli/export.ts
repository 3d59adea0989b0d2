import { Command } from "commander";

export function exportCommand(): Command {
  return new Command("export")
    .summary("print the full record of every event")
    .description("Print the full record of every event of a ledger, a line of JSON each.")
    .argument("<ledger>", "the ledger file")
    .option("--json", "lines of JSON, which is the only form there is")
    .addHelpText(
      "after",
      "\nExamples:\n  orrery export build.jsonl > records.jsonl\n  orrery export build.jsonl | jq 'select(.kind == \"TaskAssigned\")'",
    )
    .action(async (path: string) => {
      const { writeRecordLines } = await import("./records.ts");
      await writeRecordLines(path, process.stdout);
    });
}
