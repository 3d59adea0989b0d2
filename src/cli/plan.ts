import { Command, InvalidArgumentError, Option } from "commander";
import { wholeNumber } from "./option-values.ts";
import { withSettings } from "./settings-options.ts";

export interface PlanOptions {
  readonly mode: "online" | "plan";
  readonly effort?: number;
  readonly schedules?: number;
  readonly slots?: number;
  readonly tokens?: number;
  readonly resource?: Readonly<Record<string, number>>;
  readonly seed: number;
  readonly diff?: true;
  readonly svg?: string;
  readonly width?: number;
  readonly json?: true;
}

const MOST = Number.MAX_SAFE_INTEGER;

export function planCommand(): Command {
  const command = new Command("plan")
    .summary("compute a whole schedule ahead, and say what decides it")
    .description(
      "Plan the work in FILE ahead: what is ready and in which order it goes, the critical path, when and in which lane each node runs, and how far from the optimum that can be at most. FILE is a graph file, issues of Beads (.jsonl, or a directory with .beads), PSPLIB (.sm), STG (.stg) or WfFormat (.json).",
    )
    .argument("<file>", "what to plan");
  searchOptions(command);
  limitOptions(command.optionsGroup("What there is (default: what the file or orrery.yaml says):"));
  outputOptions(command.optionsGroup("Output:"));
  return command.addHelpText("after", EXAMPLES).action(async (file: string, options: PlanOptions) => {
    const { printPlan } = await import("./plan-output.ts");
    await printPlan(file, options, command);
  });
}

function searchOptions(command: Command): void {
  command
    .addOption(
      new Option("--mode <mode>", "search for a short schedule, or do as the live scheduler would")
        .choices(["plan", "online"])
        .default("plan"),
    )
    .addOption(
      new Option("--effort <time>", "how long the plan may take, with reading the file (default: 1s)")
        .argParser(effort)
        .conflicts("schedules"),
    )
    .option("--schedules <n>", "try so many schedules instead; the same each time", wholeNumber(1, MOST))
    .option("--seed <n>", "for another search", wholeNumber(0, 2 ** 32 - 1), 1);
}

function limitOptions(command: Command): void {
  withSettings(command)
    .option("--slots <n>", "how many nodes at once", wholeNumber(1, MOST))
    .option("--tokens <n>", "how many tokens at once", wholeNumber(0, MOST))
    .option("--resource <name=n>", "how much of a resource; may be repeated", resource);
}

function outputOptions(command: Command): void {
  const width = "how many columns (default: those of the terminal, else 100)";
  command
    .option(
      "--diff",
      "compare with the plan without --slots, --tokens and --resource: what moves, what ends sooner",
    )
    .option("--svg <out>", "write a chart to this file too")
    .option("--width <n>", width, wholeNumber(40, 1_000))
    .option("--json", "print the plan as JSON");
}

/** "500ms", "2s", "1h30m", in milliseconds. */
function effort(text: string): number {
  const [, hours, minutes, seconds, millis] =
    /^(?:(\d{1,2})h)?(?:(\d{1,4})m)?(?:(\d{1,6}(?:\.\d{1,3})?)s)?(?:(\d{1,9})ms)?$/.exec(text) ?? [];
  const ms =
    Number(hours ?? 0) * 3_600_000 +
    Number(minutes ?? 0) * 60_000 +
    Number(seconds ?? 0) * 1_000 +
    Number(millis ?? 0);
  if (ms >= 1) return ms;
  throw new InvalidArgumentError("It must be a duration such as 500ms, 2s, 1m or at most 99h.");
}

function resource(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  const [, name = "", count = ""] = /^(.+)=(.*)$/s.exec(text) ?? [];
  if (name === "" || !/^\d{1,15}$/.test(count))
    throw new InvalidArgumentError("It must be a name and a whole number, such as gpu=2.");
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`${name} is given twice.`);
  // Object.fromEntries makes a member of any name, also of __proto__.
  return Object.fromEntries([...Object.entries(before), [name, Number(count)]]);
}

const EXAMPLES = `
Examples:
  orrery plan .beads/issues.jsonl                 what to do next, and when all is done
  orrery plan build.yaml --slots 8 --diff         what eight slots would change
  orrery plan j301_1.sm --effort 10s --json       search for longer; for programs
  orrery plan issues.jsonl --svg plan.svg         a chart for the browser`;
