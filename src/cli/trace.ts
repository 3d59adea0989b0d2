import { Command, Option } from "commander";

export function traceCommand(): Command {
  return new Command("trace")
    .summary("write what ran when as a trace for Perfetto")
    .description("Write what ran when, where and why as a trace that opens in Perfetto (ui.perfetto.dev).")
    .argument("<ledger>", "the ledger file")
    .addOption(
      new Option("--format <name>", "chrome: trace events; json: an array of the full records of all events")
        .choices(["chrome", "json"])
        .default("chrome"),
    )
    .option("--json", "the same as --format json")
    .option("--out <file>", "write to a file instead of stdout")
    .addHelpText(
      "after",
      "\nExamples:\n  orrery trace build.jsonl --out build.trace.json\n  orrery trace build.jsonl --format json | jq '.[0]'",
    )
    .action(async (path: string, options: { format: "chrome" | "json"; json?: true; out?: string }) => {
      const { writeTrace } = await import("./trace-file.ts");
      await writeTrace(path, options.json ? "json" : options.format, options.out);
    });
}
