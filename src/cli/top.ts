import { Command } from "commander";
import { type ServiceOptions, withService } from "./service-options.ts";

export interface TopOptions extends ServiceOptions {
  readonly once: boolean;
}

export function topCommand(): Command {
  const command = new Command("top")
    .summary("watch a server: what waits and why, what runs, how fast")
    .description(
      "Show a zone at a glance, anew every second. q or Ctrl-C ends. Needs a key with the scope read.",
    )
    .option("--once", "print it once, as when the output is no terminal", false);
  return withService(command).action(async (options: TopOptions) => {
    const { showTop } = await import("./top-screen.ts");
    await showTop(options);
  });
}
