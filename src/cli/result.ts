import { Command } from "commander";
import { type ServiceOptions, withService } from "./service-options.ts";

export interface ResultOptions extends ServiceOptions {
  readonly out?: string;
}

export function resultCommand(): Command {
  const command = new Command("result")
    .summary("print or save the result of a node")
    .description(
      "Print the result of a node of a run on a server, or save it. Large ones come from the worker that holds them.",
    )
    .argument("<run>", "the id of a run")
    .argument("<node>", "the node's id in its graph")
    .option("-o, --out <file>", "save it as it is, instead of printing it");
  return withService(command)
    .addHelpText("after", EXAMPLES)
    .action(async (run: string, node: string, options: ResultOptions) => {
      const { showResult } = await import("./result-view.ts");
      await showResult(run, node, options);
    });
}

export function releaseCommand(): Command {
  const command = new Command("release")
    .summary("let workers forget the results of a run")
    .description(
      "Let workers forget the results that are kept of a run. One of up to 16 KiB is stored with its task, and stays.",
    )
    .argument("<run>", "the id of a run");
  return withService(command).action(async (run: string, options: ServiceOptions) => {
    const { releaseResults } = await import("./result-view.ts");
    await releaseResults(run, options);
  });
}

const EXAMPLES = `
Examples:
  orrery result 0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d merge
  orrery result 0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d thumbnail --out small.png`;
