import { existsSync } from "node:fs";
import { Command, Option } from "commander";
import { UsageError } from "./errors.ts";
import { sequence } from "./option-values.ts";
import { isTaskId, keyOption } from "./service-options.ts";

export interface WhyOptions {
  readonly run?: string;
  readonly at?: number;
  readonly json?: true;
  readonly server?: string;
  readonly key?: string;
  readonly zone?: string;
  readonly agent?: string;
}

export function whyCommand(): Command {
  return new Command("why")
    .summary("say why a node or task ran where it did, or why it does not run yet")
    .description(
      "Say why a node ran where it did, with all candidates and what came of it; or why it does not run yet. With the id of a task or run, or --server, a server is asked.",
    )
    .usage(
      "[options] <ledger> <node>\n       orrery why [options] <task id>\n       orrery why [options] <run id> <node>",
    )
    .argument("<ledger>", "the ledger file; or the id of a task or run")
    .argument("[node]", "the id of a node")
    .option("--run <id>", "the run (default: the last one that has the node)")
    .option("--at <seq>", "ask about the moment after this event (default: the last one)", sequence)
    .addOption(new Option("--server <url>", "ask a server (default: ORRERY_URL, or http://127.0.0.1:2026)"))
    .addOption(keyOption())
    .option("--zone <name>", "the zone (default: that of the key)")
    .option("--agent <name>", "act for this agent; the key must allow it")
    .option("--json", "print the answer as JSON")
    .addHelpText("after", EXAMPLES)
    .action(async (first: string, node: string | undefined, options: WhyOptions) => {
      if (node !== undefined && !isAtServer(first, options)) return await explainNode(first, node, options);
      if (options.server === undefined && !isTaskId(first))
        throw new UsageError("name a ledger and a node, or the id of a task");
      const { explainTask } = await import("./task-explanation.ts");
      await explainTask(first, node, options);
    });
}

/** Of what is no file, an id can only be that of a run there. */
function isAtServer(ledgerOrRun: string, { server }: WhyOptions): boolean {
  return server !== undefined || (isTaskId(ledgerOrRun) && !existsSync(ledgerOrRun));
}

async function explainNode(path: string, node: string, options: WhyOptions): Promise<void> {
  const { explain } = await import("./explanation.ts");
  const { explanationJson, renderExplanation } = await import("./explanation-text.ts");
  const { printJson, printLines, stdoutColumns, stdoutPalette } = await import("./output.ts");
  const answer = await explain(path, node, options);
  if (options.json) await printJson(explanationJson(answer));
  else await printLines(renderExplanation(answer, stdoutColumns(), stdoutPalette()));
}

const EXAMPLES = `
Examples:
  orrery why build.jsonl report
  orrery why build.jsonl report --at 120 --json
  orrery why 0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d           a task of a server
  orrery why 0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d report    a node of a run there`;
