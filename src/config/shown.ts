import { BY_DEFAULT, type Origin } from "./origin.ts";
import type { Config } from "./read-config.ts";
import { RESOURCES, ROWS, type Row, SECTION_NAMES, type Settings } from "./table.ts";

/** A setting as people may see it. */
export interface ShownSetting {
  readonly section: string;
  readonly key: string;
  /** As a file has it, without what is secret. Undefined: there is none, and `words` say what that means. */
  readonly value: unknown;
  readonly words: string | undefined;
  readonly origin: Origin;
}

/** Every setting that is in effect, by sections. */
export function shownSettings({ settings, origins }: Config): ShownSetting[] {
  const secrets = secretsOf(settings);
  return SECTION_NAMES.flatMap((section) =>
    section === RESOURCES ? resources(settings, origins) : rowsOf(section, settings, origins),
  ).map((shown) => ({ ...shown, value: withoutSecrets(shown.value, secrets) }));
}

/** Shorter ones are words that may stand anywhere. */
const LEAST_SECRET = 8;

/** What is secret, and how it is shown. */
function secretsOf(settings: Settings): Map<string, string> {
  const secrets = new Map<string, string>();
  for (const { section, name, setting } of ROWS) {
    const value = (settings[section as keyof Settings] as Readonly<Record<string, unknown>>)[name];
    const shown = typeof value === "string" ? setting.mask?.(value) : undefined;
    if (shown !== undefined && shown !== value) secrets.set(value as string, shown);
  }
  return secrets;
}

/** An alias in the file can bring a secret to where none is expected. */
function withoutSecrets(value: unknown, secrets: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, secrets));
  if (typeof value !== "string") return value;
  let text = value;
  for (const [secret, shown] of secrets) {
    if (text === secret) text = shown;
    else if (secret.length >= LEAST_SECRET) text = text.replaceAll(secret, () => shown);
  }
  return text;
}

function rowsOf(section: string, settings: Settings, origins: Config["origins"]): ShownSetting[] {
  const values = settings[section as keyof Settings] as Readonly<Record<string, unknown>>;
  return ROWS.filter((row) => row.section === section).map((row) => ({
    section,
    key: row.setting.key,
    value: masked(row, values[row.name]),
    words: row.setting.defaultWords,
    origin: origins.get(row.path) ?? BY_DEFAULT,
  }));
}

function masked({ setting }: Row, value: unknown): unknown {
  if (value === undefined) return undefined;
  return setting.mask ? setting.mask(value) : setting.type.write(value);
}

function resources(settings: Settings, origins: Config["origins"]): ShownSetting[] {
  return Object.entries(settings.resources).map(([key, value]) => ({
    section: RESOURCES,
    key,
    value,
    words: undefined,
    origin: origins.get(`${RESOURCES}.${key}`) ?? BY_DEFAULT,
  }));
}
