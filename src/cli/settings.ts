import type { Command } from "commander";
import {
  type Config,
  type GivenOption,
  optionsFor,
  problemLine,
  type Reader,
  readConfig,
  type Settings,
} from "../config/index.ts";
import type { SchedulerConfig } from "../ledger/index.ts";
import { NotFoundError, UsageError } from "./errors.ts";
import type { SettingsOptions } from "./settings-options.ts";

/** The settings in effect for a command: its options go before the environment, that before the file. */
export function settingsOf(command: Command, reader: Reader, also: readonly GivenOption[] = []): Settings {
  return configOf(command, reader, also).settings;
}

/** The same with where each comes from. */
export function configOf(command: Command, reader: Reader, also: readonly GivenOption[] = []): Config {
  const { config, set = [] } = command.opts<SettingsOptions>();
  const options = [...givenOptions(command, reader), ...also, ...set.map(assignment)];
  return used(readConfig(config, process.env, { options, reader }));
}

/** How much may run at once, when a node that waits is raised, and what is tried in several ways. */
export function budgetsOf({
  scheduling,
  resources,
  speculation,
}: Pick<Settings, "scheduling" | "resources" | "speculation">): Required<
  Pick<SchedulerConfig, "resources" | "starveNodeMs" | "speculation">
> {
  const { maxConcurrentTokens: tokens, starvationThresholdMs: starveNodeMs } = scheduling;
  return { resources: { tokens, ...resources }, starveNodeMs, speculation };
}

/** With problems there is nothing to use. */
export function used(config: Config): Config {
  const { problems } = config;
  if (problems.length === 0) return config;
  const text = problems.map(problemLine).join("\n");
  throw problems.every((problem) => problem.isMissing) ? new NotFoundError(text) : new UsageError(text);
}

export function assignment(text: string): GivenOption {
  const [, path, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (path !== undefined && value !== undefined) return { path, value, option: `--set ${path}` };
  throw new UsageError(`--set takes a setting and its value, such as queue.fair_share=20; got ${text}`);
}

function givenOptions(command: Command, reader: Reader): GivenOption[] {
  return optionsFor(reader).flatMap(({ path, option }) => {
    const name = command.options.find(({ long }) => long === option)?.attributeName();
    if (name === undefined || command.getOptionValueSource(name) !== "cli") return [];
    return [{ path, option, value: command.getOptionValue(name) as GivenOption["value"] }];
  });
}
