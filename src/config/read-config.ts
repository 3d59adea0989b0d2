import { existsSync, readFileSync } from "node:fs";
import { combinationProblems } from "./combinations.ts";
import { BY_DEFAULT, type ConfigProblem, type Given, type Origin, originText } from "./origin.ts";
import { type Environment, type GivenOption, readEnvironment, readOptions } from "./outside.ts";
import type { Reader } from "./setting.ts";
import { type FileSettings, readSettingsFile } from "./settings-file.ts";
import { RESOURCES, ROWS, type Settings } from "./table.ts";

export interface Config {
  /** In effect. Where something is wrong, as if it had not been said. */
  readonly settings: Settings;
  /** By path, such as `scheduling.max_concurrent_tokens`: every setting, and every resource that was named. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The file that was read. */
  readonly file: string | undefined;
  /** All of them; then the settings are not to be used. */
  readonly problems: readonly ConfigProblem[];
}

export interface ReadOptions {
  /** What the command line says. */
  readonly options?: readonly GivenOption[];
  /** The command that asks: variables that mean nothing for it, such as DATABASE_URL, are not looked at. */
  readonly reader?: Reader;
}

/** Looked for where one is. */
const STANDARD_FILE = "orrery.yaml";
const OFTEN_MEANT = "orrery.yml";

/**
 * The settings in effect: what options say goes before what the environment says, that before the file, and that
 * before the defaults. The file is the one that is named, that of ORRERY_CONFIG, or `orrery.yaml` where one is.
 */
export function readConfig(
  file: string | undefined,
  env: Environment,
  { options = [], reader }: ReadOptions = {},
): Config {
  const named = file ?? (env["ORRERY_CONFIG"] || undefined);
  const found = named ?? (existsSync(STANDARD_FILE) ? STANDARD_FILE : undefined);
  const layers = [
    found === undefined ? noFile() : readFile(found),
    readEnvironment(env, reader),
    readOptions(options),
  ];
  const given = new Map<string, Given>(layers.flatMap((layer) => [...layer.given]));
  const distrusted = named === undefined ? distrust(given, reader) : [];
  const settings = settingsOf(given);
  const origins = new Map(ROWS.map(({ path }) => [path, BY_DEFAULT]));
  for (const [path, { origin }] of given) origins.set(path, origin);
  const refused = [...layers.flatMap((layer) => layer.problems), ...distrusted];
  const problems = [...refused, ...combinationProblems(settings, origins, refused)];
  return { settings, origins, file: found, problems };
}

/** Removes the settings that only a named file may make, as far as they come from a file, and reports them. */
function distrust(given: Map<string, Given>, reader: Reader | undefined): ConfigProblem[] {
  return ROWS.flatMap(({ path, setting }) => {
    const origin = given.get(path)?.origin;
    if (!setting.needsNamedFile || origin?.kind !== "file") return [];
    given.delete(path);
    if (reader !== undefined && !setting.readers.includes(reader)) return [];
    const message = `${path} decides where keys and data go or which code runs, so it is read only from a file that you name: add --config ${origin.file}, or set ORRERY_CONFIG`;
    return [{ where: originText(origin), message }];
  });
}

function noFile(): FileSettings {
  const message = `is not read; rename it to ${STANDARD_FILE}, or name it with --config`;
  return { given: new Map(), problems: existsSync(OFTEN_MEANT) ? [{ where: OFTEN_MEANT, message }] : [] };
}

function readFile(file: string): FileSettings {
  let source: Uint8Array;
  try {
    source = readFileSync(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const problem =
      code === "ENOENT"
        ? ({ where: file, message: "no such file", isMissing: true } as const)
        : { where: file, message: code === "EISDIR" ? "is a directory; name the file in it" : message };
    return { given: new Map(), problems: [problem] };
  }
  return readSettingsFile(source, file);
}

function settingsOf(given: ReadonlyMap<string, Given>): Settings {
  const settings: Record<string, Record<string, unknown>> = {};
  for (const { section, name, path, setting } of ROWS) {
    const value = given.has(path) ? given.get(path)?.value : setting.default;
    settings[section] = { ...settings[section], [name]: value };
  }
  const resources = [...given].filter(([path]) => path.startsWith(`${RESOURCES}.`));
  // Object.fromEntries makes a member of any name, also of __proto__.
  settings[RESOURCES] = Object.fromEntries(
    resources.map(([path, { value }]) => [path.slice(RESOURCES.length + 1), value]),
  );
  // The table gives a value of its type for every name.
  return settings as unknown as Settings;
}
