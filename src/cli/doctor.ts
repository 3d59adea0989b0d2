import { Command, Option } from "commander";
import { keyOption } from "./service-options.ts";
import { type SettingsOptions, withSettings } from "./settings-options.ts";

export interface DoctorOptions extends SettingsOptions {
  readonly store?: string;
  readonly data?: string;
  readonly server?: string;
  readonly key?: string;
  readonly json: boolean;
}

export function doctorCommand(): Command {
  const command = new Command("doctor")
    .summary("check a server, its store and this machine")
    .description(
      "Check what a server stands on and say what to do about what is wrong. Nothing is changed. Ends with 1 if a check failed.",
    )
    .addOption(
      new Option("--store <url>", "postgres://… (default: the private one in --data)").env("DATABASE_URL"),
    )
    .option("--data <dir>", "where the private PostgreSQL keeps its data (default: .orrery/server)")
    .addOption(new Option("--server <url>", "the server (default: http://127.0.0.1:2026)").env("ORRERY_URL"))
    .addOption(keyOption())
    .option("--json", "print the checks as JSON", false);
  return withSettings(command).action(async (options: DoctorOptions) => {
    const { diagnose } = await import("./diagnosis.ts");
    await diagnose(options);
  });
}
