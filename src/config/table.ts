import { EDGE } from "./edge-settings.ts";
import { SCHEDULING, SPECULATION } from "./planner-settings.ts";
import { PLACEMENT, QUEUE } from "./queue-settings.ts";
import { SERVER, TELEMETRY, WEBHOOKS } from "./server-settings.ts";
import type { Reader, Section, Setting, Values } from "./setting.ts";
import { type ValueType, whole } from "./value-type.ts";
import { RUN, WORKER } from "./worker-settings.ts";

/** The section whose keys are names of the user's own. */
export const RESOURCES = "resources";

const SECTIONS = {
  scheduling: SCHEDULING,
  speculation: SPECULATION,
  queue: QUEUE,
  placement: PLACEMENT,
  server: { ...SERVER, ...EDGE },
  webhooks: WEBHOOKS,
  telemetry: TELEMETRY,
  worker: WORKER,
  run: RUN,
};

/** For people: what a section is about. */
export const ABOUT: Readonly<Record<keyof typeof SECTIONS | typeof RESOURCES, string>> = {
  scheduling: "How much the planner runs at once, and how often it looks",
  speculation: "When nodes are tried in several alternatives side by side",
  resources: "What there is of each named resource; what is not named is not limited",
  queue: "What goes first on a server, and who may start",
  placement: "Which worker gets what",
  server: "The service itself",
  webhooks: "Where a server sends events to",
  telemetry: "Traces of servers and workers",
  worker: "What `orrery worker` works for, and with",
  run: "How `orrery run` runs a graph on this machine",
};

export type Settings = { readonly [Name in keyof typeof SECTIONS]: Values<(typeof SECTIONS)[Name]> } & {
  /** What there is of each named resource. What is not named is not limited. */
  readonly resources: Readonly<Record<string, number>>;
};

export interface Row {
  readonly section: string;
  /** What the code calls it. */
  readonly name: string;
  /** Such as `scheduling.max_concurrent_tokens`. */
  readonly path: string;
  readonly setting: Setting<unknown>;
}

export const AMOUNT: ValueType<number> = whole(0);

/** What is wrong with a value of a setting, or of a resource: the end of a sentence that begins with its name. */
export function refusalOf(path: string, value: unknown): string | undefined {
  const type = ROW_OF.get(path)?.setting.type ?? AMOUNT;
  let found: string | undefined;
  type.parse(value, (refusal) => {
    found ??= refusal;
  });
  return found;
}

/** The planner's own resources, which have settings. */
export const PLANNED: ReadonlyMap<string, string> = new Map([
  ["resources.slots", "is set by scheduling.max_concurrent_workcells; write it there"],
  ["resources.tokens", "is set by scheduling.max_concurrent_tokens; write it there"],
]);

export const ROWS: readonly Row[] = Object.entries<Section>(SECTIONS).flatMap(([section, settings]) =>
  Object.entries(settings).map(([name, setting]) => ({
    section,
    name,
    path: `${section}.${setting.key}`,
    setting,
  })),
);

export const ROW_OF: ReadonlyMap<string, Row> = new Map(ROWS.map((row) => [row.path, row]));

/** In the order in which they are shown. */
export const SECTION_NAMES: readonly string[] = Object.keys(ABOUT);

/** The options that a command has for settings, and those for which setting. */
export function optionsFor(reader: Reader): readonly { readonly path: string; readonly option: string }[] {
  return ROWS.flatMap(({ path, setting: { option, readers } }) =>
    option !== undefined && readers.includes(reader) ? [{ path, option }] : [],
  );
}

/** The variable that every setting has: `ORRERY_SCHEDULING_MAX_CONCURRENT_TOKENS`. */
export function variableOf({ path }: Row): string {
  return `ORRERY_${path.replace(".", "_").toUpperCase()}`;
}
