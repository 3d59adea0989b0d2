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
  return SECTION_NAMES.flatMap((section) =>
    section === RESOURCES ? resources(settings, origins) : rowsOf(section, settings, origins),
  );
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
