import {
  type Config,
  configSchema,
  originText,
  readConfig,
  type ShownSetting,
  shownSettings,
  unknownVariables,
  valueText,
} from "../config/index.ts";
import { closest } from "../protocol/index.ts";
import type { ShowConfigOptions } from "./config.ts";
import { NotFoundError, UsageError } from "./errors.ts";
import { printJson, printLines, stdoutPalette, warn } from "./output.ts";
import { printSafeJson } from "./service-text.ts";
import { assignment, used } from "./settings.ts";
import { neutralise, padText, textWidth } from "./terminal-text.ts";

export async function showConfig(name: string | undefined, options: ShowConfigOptions): Promise<void> {
  const given = (options.set ?? []).map(assignment);
  const config = used(readConfig(options.config, process.env, { options: given }));
  for (const [name, meant] of unknownVariables(process.env))
    warn(`${neutralise(name)} names no setting${meant === undefined ? "" : `; did you mean ${meant}?`}`);
  const settings = named(shownSettings(config), name);
  if (options.json) await printSafeJson(record(config, settings, options.origin));
  else await printLines(fileLines(settings, options.origin));
}

export async function checkConfig(file: string | undefined, json: boolean): Promise<void> {
  // The file alone: what this shell's variables say is of no interest for it.
  const config = readConfig(file, { ORRERY_CONFIG: process.env["ORRERY_CONFIG"] });
  const { problems } = config;
  if (json) await printSafeJson({ file: config.file ?? null, problems });
  used(config);
  if (config.file === undefined)
    throw new NotFoundError("there is no orrery.yaml here; name a file: orrery config check FILE");
  const count = [...config.origins.values()].filter(({ kind }) => kind === "file").length;
  if (!json)
    await printLines([neutralise(`${config.file}: ok, ${count} ${count === 1 ? "setting" : "settings"}`)]);
}

export async function printSchema(): Promise<void> {
  await printJson(configSchema());
}

function named(settings: readonly ShownSetting[], name: string | undefined): readonly ShownSetting[] {
  if (name === undefined) return settings;
  const found = settings.filter(({ section, key }) => section === name || `${section}.${key}` === name);
  if (found.length > 0 || name === "resources") return found;
  const names = settings.flatMap(({ section, key }) => [section, `${section}.${key}`]);
  const meant = closest(name, names);
  throw new UsageError(
    `there is no setting ${JSON.stringify(name)}; ${meant ? `did you mean ${meant}?` : `sections are ${[...new Set(settings.map(({ section }) => section))].join(", ")}`}`,
  );
}

function record(config: Config, settings: readonly ShownSetting[], withOrigin: boolean): unknown {
  const sections = new Map<string, [string, unknown][]>();
  for (const { section, key, value } of settings) {
    sections.set(section, [...(sections.get(section) ?? []), [key, value ?? null]]);
  }
  return {
    file: config.file ?? null,
    settings: Object.fromEntries([...sections].map(([name, entries]) => [name, Object.fromEntries(entries)])),
    ...(withOrigin && {
      origins: Object.fromEntries(settings.map(({ section, key, origin }) => [`${section}.${key}`, origin])),
    }),
  };
}

/** Lines of YAML. What there is no value for stands in a comment. */
function fileLines(settings: readonly ShownSetting[], withOrigin: boolean): string[] {
  const { dim } = stdoutPalette();
  const lines = settings.map((setting) => {
    const { key, value, words } = setting;
    const text = value === undefined ? `# ${key}: ${words}` : `${valueText(key)}: ${valueText(value)}`;
    return { setting, text: neutralise(`  ${text}`) };
  });
  const width = Math.min(MAX_COLUMN, Math.max(0, ...lines.map(({ text }) => textWidth(text))));
  return lines.flatMap(({ setting: { section, origin }, text }, at) => {
    const isFirst = settings[at - 1]?.section !== section;
    const padded = textWidth(text) < width ? padText(text, width) : text;
    const line = withOrigin ? `${padded}  ${dim(neutralise(`# ${originText(origin)}`))}` : text;
    return isFirst ? [`${section}:`, line] : [line];
  });
}

/** A value that is longer moves its own comment only. */
const MAX_COLUMN = 60;
