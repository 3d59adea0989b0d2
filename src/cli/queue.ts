import { Command, InvalidArgumentError } from "commander";
import { wholeNumber } from "./option-values.ts";
import { type ServiceOptions, withService } from "./service-options.ts";

const MOST = 1_000_000_000;

/** No limit. */
type None = "none";

export interface LimitOptions extends ServiceOptions {
  readonly concurrency?: number | None;
  readonly rate?: Rate | None;
}

export interface Rate {
  readonly count: number;
  readonly per_seconds: number;
}

export interface AgentsOptions extends ServiceOptions {
  readonly max?: number | None;
  readonly rate?: Rate | None;
  readonly grant?: string;
}

export function pauseCommand(): Command {
  return pausing("pause", "start nothing new of an executor, or of the whole zone", true);
}

export function resumeCommand(): Command {
  return pausing("resume", "start again what was paused", false);
}

function pausing(name: string, summary: string, paused: boolean): Command {
  const command = new Command(name).summary(summary).argument("[executor]", "by default the whole zone");
  return withService(command).action(async (executor: string | undefined, options: ServiceOptions) => {
    const { setPaused } = await import("./queue-actions.ts");
    await setPaused(executor, paused, options);
  });
}

export function limitsCommand(): Command {
  const command = new Command("limits")
    .summary("list the limits that tasks name, or set one")
    .description(
      "List the limits that tasks name. With a name, set that one; what is not given is not limited.",
    )
    .argument("[name]", "the limit to set")
    .option("--concurrency <n>", "how many tasks run at once, or none", numberOrNone(0, MOST))
    .option("--rate <n/seconds>", "how many tasks start in how long, such as 100/60, or none", rateOrNone);
  return withService(command).action(async (name: string | undefined, options: LimitOptions) => {
    const { listLimits, setLimit } = await import("./queue-actions.ts");
    await (name === undefined ? listLimits(options) : setLimit(name, options));
  });
}

export function agentsCommand(): Command {
  const command = new Command("agents")
    .summary("list agents, set how much one may run and submit, give it credits")
    .description(
      "List agents. With a name, set what that one may do: with --max or --rate alone, the other is as the zone says.",
    )
    .argument("[name]", "the agent to change")
    .option("--max <n>", "how many of its tasks run at once, or none for no limit", numberOrNone(0, MOST))
    .option(
      "--rate <n/seconds>",
      "how many tasks it may submit in how long, such as 100/60, or none",
      rateOrNone,
    )
    .option("--grant <amount>", "give it credits, such as 10.5");
  return withService(command).action(async (name: string | undefined, options: AgentsOptions) => {
    const { changeAgent, listAgents } = await import("./queue-actions.ts");
    await (name === undefined ? listAgents(options) : changeAgent(name, options));
  });
}

function numberOrNone(least: number, most: number): (text: string) => number | None {
  const number = wholeNumber(least, most);
  return (text) => (text === "none" ? text : number(text));
}

function rateOrNone(text: string): Rate | None {
  if (text === "none") return text;
  const [, count = "", seconds = ""] = /^(\d{1,7})\/(\d{1,5}(?:\.\d{1,3})?)$/.exec(text) ?? [];
  const rate = { count: Number(count), per_seconds: Number(seconds) };
  if (rate.count >= 1 && rate.per_seconds > 0) return rate;
  throw new InvalidArgumentError("It must be a number of tasks and of seconds such as 100/60, or none.");
}
