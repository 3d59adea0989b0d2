import { Command } from "commander";
import { type ServiceOptions, withServer } from "./service-options.ts";

export function clusterCommand(): Command {
  const status = withServer(
    new Command("status").summary("the servers on one store, and which leads"),
  ).action(async (options: ServiceOptions) => {
    await (await import("./cluster-view.ts")).showCluster(options);
  });
  const stepDown = withServer(new Command("step-down").summary("let another server lead")).action(
    async (options: ServiceOptions) => {
      await (await import("./cluster-view.ts")).stepDown(options);
    },
  );
  return new Command("cluster")
    .summary("servers that share a store: who leads, who follows")
    .description("Ask any of them. The key needs the operator scope.")
    .addCommand(status)
    .addCommand(stepDown);
}
