import { Command } from "commander";
import { type ServiceOptions, withService } from "./service-options.ts";

export interface TaskOptions extends ServiceOptions {
  readonly wait?: string | true;
  readonly log?: true;
  readonly follow?: true;
}

export function taskCommand(): Command {
  const command = new Command("task")
    .summary("show a task, its result or what it printed")
    .argument("<id>", "the id of a task")
    .option("--wait [seconds]", "wait for its end; exit with 1 if it failed")
    .option("--log", "show what it printed instead")
    .option("-f, --follow", "with --log: go on until it has ended");
  return withService(command)
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, options: TaskOptions) => {
      const { showTask } = await import("./task-view.ts");
      await showTask(id, options);
    });
}

const EXAMPLES = `
Examples:
  orrery task 0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d --wait 60
  orrery task 0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d --log --follow`;
