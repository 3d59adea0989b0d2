import { Command, Option } from "commander";
import { type ServiceOptions, withService } from "./service-options.ts";

export interface CancelOptions extends ServiceOptions {
  readonly status?: "queued" | "running";
  readonly executor?: string;
  readonly type?: string;
  readonly yes: boolean;
}

export function cancelCommand(): Command {
  const command = new Command("cancel")
    .summary("cancel tasks of a server")
    .description(
      "Cancel tasks, whether they wait or run: those that are named, or all that match. `orrery runs ID --cancel` cancels a run.",
    )
    .argument("[id...]", "ids of tasks")
    .addOption(new Option("--status <name>", "all of this status").choices(["queued", "running"]))
    .option("--executor <name>", "all of this executor")
    .option("--type <name>", "all of this type")
    .option("--yes", "really cancel all that match; without it they are only counted", false);
  return withService(command).action(async (ids: readonly string[], options: CancelOptions) => {
    const { cancelMatching, cancelTasks } = await import("./task-actions.ts");
    await (ids.length > 0 ? cancelTasks(ids, options) : cancelMatching(options));
  });
}

export function retryCommand(): Command {
  const command = new Command("retry")
    .summary("put failed or cancelled tasks back into the queue")
    .argument("<id...>", "ids of tasks");
  return withService(command).action(async (ids: readonly string[], options: ServiceOptions) => {
    const { retryTasks } = await import("./task-actions.ts");
    await retryTasks(ids, options);
  });
}
