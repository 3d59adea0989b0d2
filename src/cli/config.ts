import { Command } from "commander";
import { type SettingsOptions, withSettings } from "./settings-options.ts";

export interface ShowConfigOptions extends SettingsOptions {
  readonly origin: boolean;
  readonly json: boolean;
}

export function configCommand(): Command {
  return new Command("config")
    .summary("show, check and describe the settings in orrery.yaml")
    .description(
      "Settings come from options, the environment, orrery.yaml and defaults, in this order. docs/configuration.md lists them.",
    )
    .addCommand(showCommand())
    .addCommand(checkCommand())
    .addCommand(schemaCommand());
}

function showCommand(): Command {
  const command = new Command("show")
    .summary("print every setting in effect, as a file could have it")
    .argument("[name]", "a section, or a setting such as queue.fair_share (default: all)")
    .option("--origin", "say where each comes from", false)
    .option("--json", "print them as JSON", false);
  return withSettings(command).action(async (name: string | undefined, options: ShowConfigOptions) => {
    const { showConfig } = await import("./config-commands.ts");
    await showConfig(name, options);
  });
}

function checkCommand(): Command {
  return new Command("check")
    .summary("say everything that is wrong with a file of settings")
    .argument("[file]", "the file (default: ORRERY_CONFIG, or orrery.yaml where one is)")
    .option("--json", "print the problems as JSON", false)
    .action(async (file: string | undefined, { json }: { readonly json: boolean }) => {
      const { checkConfig } = await import("./config-commands.ts");
      await checkConfig(file, json);
    });
}

function schemaCommand(): Command {
  return new Command("schema").summary("print a JSON Schema of the file, for editors").action(async () => {
    const { printSchema } = await import("./config-commands.ts");
    await printSchema();
  });
}
