import { Command } from "commander";
import { wholeNumber } from "./option-values.ts";
import { type ServiceOptions, withService } from "./service-options.ts";

export interface TasksOptions extends ServiceOptions {
  readonly status?: readonly string[];
  readonly executor?: string;
  readonly type?: string;
  readonly run?: string;
  readonly limit: number;
}

export function tasksCommand(): Command {
  const command = new Command("tasks")
    .summary("list a server's tasks")
    .description("List tasks, newest first.")
    .option("--status <name...>", "queued, running, completed, failed, cancelled")
    .option("--executor <name>", "only of this executor")
    .option("--type <name>", "only of this type")
    .option("--run <id>", "only of this run")
    .option("-n, --limit <n>", "how many", wholeNumber(1, 1_000_000), 50);
  return withService(command).action(async (options: TasksOptions) => {
    const { listTasks } = await import("./task-list.ts");
    await listTasks(options);
  });
}
