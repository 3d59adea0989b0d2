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

export interface RechargeOptions extends ServiceOptions {
  readonly ops?: string;
  readonly memory?: string;
  readonly spawns?: string;
  readonly channelOps?: string;
  readonly syscalls?: string;
}

export function rechargeCommand(): Command {
  const command = new Command("recharge")
    .summary("let a running task consume more than its budget")
    .description(
      "Let a running task that was submitted with a budget consume more. One that has used it up goes on.",
    )
    .argument("<id>", "the id of a task")
    .option("--ops <count>", "so many more operations")
    .option("--memory <size>", "so much more memory, such as 16MiB")
    .option("--spawns <count>", "so many more fibers")
    .option("--channel-ops <count>", "so many more sends and receives")
    .option("--syscalls <count>", "so many more calls to the outside");
  return withService(command).action(async (id: string, options: RechargeOptions) => {
    const { rechargeTask } = await import("./task-actions.ts");
    await rechargeTask(id, options);
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
