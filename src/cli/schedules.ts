import { Command, Option } from "commander";
import { wholeNumber } from "./option-values.ts";
import { type ServiceOptions, withService } from "./service-options.ts";
import { type TaskFlags, withTask } from "./submit.ts";

export interface CreateScheduleOptions extends ServiceOptions, TaskFlags {
  readonly name?: string;
  readonly cron: string;
  readonly timeZone?: string;
  readonly catchUp?: "none" | "latest" | "all";
  readonly catchUpLimit?: number;
  readonly overlap?: "allow" | "skip";
  readonly start?: string;
  readonly end?: string;
  readonly paused?: boolean;
}

type Act = "show" | "pause" | "resume" | "run" | "delete";

export function schedulesCommand(): Command {
  return new Command("schedules")
    .summary("make and manage a server's recurring tasks")
    .description("Recurring tasks: each is submitted at the times that a cron expression says.")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(actCommand("show", "show one, with its next times"))
    .addCommand(actCommand("pause", "make no tasks until it is resumed"))
    .addCommand(actCommand("resume", "go on with the next time"))
    .addCommand(actCommand("run", "submit its task now, and print the id"))
    .addCommand(actCommand("delete", "delete one; the tasks that it made stay"));
}

function createCommand(): Command {
  const command = new Command("create")
    .summary("make a recurring task, and print its id and next times")
    .argument("<type>", "what the worker shall do")
    .requiredOption("--cron <expression>", "five fields, or six with seconds before them")
    .option("--time-zone <name>", "that the fields are in, such as Europe/Berlin (default: UTC)")
    .option("--name <text>", "what it is for (default: the type)")
    .addOption(
      new Option("--catch-up <what>", "of the times that nobody was there for (default: latest)").choices([
        "none",
        "latest",
        "all",
      ]),
    )
    .option("--catch-up-limit <n>", "with all: at most so many (default: 100)", wholeNumber(1, 100))
    .addOption(
      new Option("--overlap <what>", "skip: none while the last has not ended (default: allow)").choices([
        "allow",
        "skip",
      ]),
    )
    .option("--start <when>", "not before: a time with a zone, or a duration from now")
    .option("--end <when>", "not after: a time with a zone, or a duration from now")
    .option("--paused", "do not begin before it is resumed");
  return withService(withTask(command))
    .addHelpText("after", EXAMPLES)
    .action(async (type: string, options: CreateScheduleOptions) => {
      const { createSchedule } = await import("./schedule-commands.ts");
      await createSchedule(type, options);
    });
}

function listCommand(): Command {
  return withService(new Command("list").summary("list them")).action(async (options: ServiceOptions) => {
    const { listSchedules } = await import("./schedule-commands.ts");
    await listSchedules(options);
  });
}

function actCommand(act: Act, summary: string): Command {
  const command = new Command(act).summary(summary).argument("<id>", "the id of a recurring task");
  return withService(command).action(async (id: string, options: ServiceOptions) => {
    const commands = await import("./schedule-commands.ts");
    await commands[`${act}Schedule`](id, options);
  });
}

const EXAMPLES = `
Examples:
  orrery schedules create report --cron "30 6 * * 1-5" --time-zone Europe/Berlin --payload '{"for": "all"}'
  orrery schedules create sweep --cron "*/10 * * * * *" --overlap skip        every ten seconds`;
