import { Command, Option } from "commander";
import type { Strategy } from "../placement/index.ts";
import { CheckFailed, CliError, UsageError } from "./errors.ts";
import { wholeNumber } from "./option-values.ts";
import { keyOption } from "./service-options.ts";
import { withSettings } from "./settings-options.ts";

export interface RunOptions {
  readonly seed?: number;
  readonly ledger?: string;
  readonly resume: boolean;
  readonly keepGoing?: true;
  readonly quiet: boolean;
  readonly json: boolean;
}

/** For a run on a server. */
export interface RemoteRunOptions extends RunOptions {
  readonly failFast?: true;
  readonly server: string;
  readonly key?: string;
  readonly zone?: string;
  readonly agent?: string;
  readonly detach?: true;
}

/** For a run on this machine whose nodes are functions. */
export interface TasksRunOptions extends RunOptions {
  readonly failFast?: true;
  readonly tasks: string;
  readonly workers?: string;
  readonly out?: string;
}

/** What only a run on this machine has. */
const LOCAL_ONLY = ["workers", "strategy", "seed", "ledger", "resume", "config", "set", "tasks", "out"];
/** What a run has that nothing is recorded of. */
const RECORDED_ONLY = ["strategy", "seed", "ledger", "resume", "config", "set"];
const REMOTE_ONLY = ["detach", "zone", "agent"];

/** Named here once more, so that showing the help loads nothing of the scheduler. */
const STRATEGIES: Readonly<Record<Strategy, true>> = {
  "round-robin": true,
  "least-loaded": true,
  random: true,
  affinity: true,
};

export function runCommand(): Command {
  const command = new Command("run");
  return (
    withSettings(command)
      .summary("run a graph of tasks on this machine, or on a server")
      .description(
        "Run the graph in FILE (YAML or JSON) on local workers, and record every decision in a ledger; or with --server submit it there and follow it.",
      )
      .argument("<file>", "the graph")
      .option("-w, --workers <n>", "how many tasks at once (default: the number of cores)")
      .addOption(
        new Option("--strategy <name>", "how workers are chosen (default: least-loaded)").choices(
          Object.keys(STRATEGIES),
        ),
      )
      .option(
        "--seed <n>",
        "make the run's id and the random strategy reproducible",
        wholeNumber(0, 2 ** 32 - 1),
      )
      .option("--ledger <file>", "where to record (default: .orrery/<name>.jsonl)")
      .option("--resume", "skip what the ledger says is done", false)
      .option("--keep-going", "when a node fails, run all that does not depend on it (default)")
      .addOption(new Option("--fail-fast", "when a node fails, cancel the rest").conflicts("keepGoing"))
      .option("-q, --quiet", "say only what went wrong", false)
      .option("--json", "print the result as JSON", false)
      .optionsGroup("With nodes that are functions, whose results other nodes get:")
      .option("--tasks <file>", "a module that exports them; nothing of such a run is recorded")
      .option("-o, --out <directory>", "save the results that are kept")
      .optionsGroup("On a server:")
      // Not from the environment: where a graph runs should not depend on what is not on the line.
      .option("--server <url>", "submit it to this server, and follow it; Ctrl-C cancels it")
      .addOption(keyOption())
      .option("--zone <name>", "the zone (default: that of the key)")
      .option("--agent <name>", "act for this agent; the key must allow it")
      .option("-d, --detach", "print the run's id and leave it alone")
      .addHelpText("after", EXAMPLES)
      .action(async (file: string, options: AnyRunOptions, command: Command) => {
        const exitCode = await ("server" in options
          ? runThere(file, options, command)
          : "tasks" in options
            ? runWithTasks(file, options, command)
            : runHere(file, options, command));
        if (exitCode === 1) throw new CheckFailed();
        if (exitCode !== 0) throw new CliError("", exitCode);
      })
  );
}

type AnyRunOptions = RunOptions | TasksRunOptions | RemoteRunOptions;

async function runHere(file: string, options: RunOptions, command: Command): Promise<number> {
  refuse(given(command, REMOTE_ONLY), "needs --server");
  refuse(given(command, ["out"]), "needs --tasks");
  const { settingsOf } = await import("./settings.ts");
  const keepGoing = { path: "run.fail_fast", option: "--keep-going", value: false };
  const settings = settingsOf(command, "run", options.keepGoing ? [keepGoing] : []);
  const { runFile } = await import("./run-file.ts");
  return (await runFile(file, options, settings)).exitCode;
}

async function runThere(file: string, options: RemoteRunOptions, command: Command): Promise<number> {
  refuse(given(command, LOCAL_ONLY), "is for runs on this machine, and means nothing with --server");
  const { runRemotely } = await import("./remote-run.ts");
  return await runRemotely(file, options);
}

async function runWithTasks(file: string, options: TasksRunOptions, command: Command): Promise<number> {
  refuse(given(command, REMOTE_ONLY), "needs --server");
  refuse(given(command, RECORDED_ONLY), "does not go with --tasks");
  const { runFunctions } = await import("./tasks-run.ts");
  return await runFunctions(file, options);
}

function given(command: Command, names: readonly string[]): string | undefined {
  return names.find((name) => command.getOptionValueSource(name) === "cli");
}

function refuse(option: string | undefined, why: string): void {
  if (option !== undefined) throw new UsageError(`--${option} ${why}`);
}

const EXAMPLES = `
Examples:
  orrery run build.yaml                    run it on all cores
  orrery run build.yaml --resume           go on where it stopped, or failed
  orrery run build.yaml -w 4 --json | jq   four at once, the result as JSON
  orrery run words.yaml --tasks tasks.js   nodes such as {task: count, args: [{node: load}]}
  orrery run build.yaml --server https://orrery.example     on a server's workers`;
