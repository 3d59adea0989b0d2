import { Command } from "commander";
import { type ServiceOptions, withService } from "./service-options.ts";

export function cancelCommand(): Command {
  const command = new Command("cancel")
    .summary("cancel tasks of a server")
    .description("Cancel tasks, whether they wait or run. `orrery runs ID --cancel` cancels a run.")
    .argument("<id...>", "ids of tasks");
  return withService(command).action(async (ids: readonly string[], options: ServiceOptions) => {
    const { cancelTasks } = await import("./task-actions.ts");
    await cancelTasks(ids, options);
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
