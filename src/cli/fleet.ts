import { Command } from "commander";
import { type ServiceOptions, withService } from "./service-options.ts";

export interface WorkersOptions extends ServiceOptions {
  readonly drain?: string;
}

export function workersCommand(): Command {
  const command = new Command("workers")
    .summary("list a server's workers, or drain one")
    .option("--drain <id>", "give this worker nothing new");
  return withService(command).action(async (options: WorkersOptions) => {
    const { listWorkers, drainWorker } = await import("./fleet-view.ts");
    await (options.drain === undefined ? listWorkers(options) : drainWorker(options.drain, options));
  });
}
