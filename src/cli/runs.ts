import { Command, Option } from "commander";
import { wholeNumber } from "./option-values.ts";
import { type ServiceOptions, withService } from "./service-options.ts";

export interface RunsOptions extends ServiceOptions {
  readonly cancel?: true;
  readonly plan?: true;
  readonly limit: number;
}

export function runsCommand(): Command {
  const command = new Command("runs")
    .summary("list a server's runs, or show one")
    .description("List runs, newest first; or show one with its nodes.")
    .argument("[id]", "the id of a run")
    .option("--cancel", "cancel the run")
    .addOption(
      new Option("--plan", "when its nodes started and ended, and when the others should").conflicts(
        "cancel",
      ),
    )
    .option("-n, --limit <n>", "how many runs, or nodes", wholeNumber(1, 1_000_000), 50);
  return withService(command).action(async (id: string | undefined, options: RunsOptions) => {
    const { listRuns, showRun, cancelRun } = await import("./run-list.ts");
    if (id === undefined) return await listRuns(options);
    if (options.cancel) return await cancelRun(id, options);
    if (!options.plan) return await showRun(id, options);
    const { planRun } = await import("./run-plan.ts");
    await planRun(id, options);
  });
}
