import type { Command } from "commander";

/** What every command takes that settings mean something for. */
export interface SettingsOptions {
  readonly config?: string;
  readonly set?: readonly string[];
}

export function withSettings(command: Command): Command {
  return command
    .option("--config <file>", "the settings (default: ORRERY_CONFIG, or orrery.yaml where one is)")
    .option(
      "--set <setting=value>",
      "any setting of that file, such as queue.fair_share=20; may be repeated",
      (text: string, earlier: readonly string[] = []) => [...earlier, text],
    );
}
