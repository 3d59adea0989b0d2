import { type BudgetPart, MAX_NAMES, RISKS, type Risk, type TaskSpec, taskBudget } from "../graph/index.ts";
import type { Faults, Path } from "./faults.ts";
import { closest } from "./suggestion.ts";
import {
  parseCpuMillicores,
  parseDurationMs,
  parseMemoryBytes,
  parsePriority,
  parseTshirtSizeMs,
  type Refusal,
  refused,
  shortened,
  shown,
} from "./units.ts";

/** What a node or `defaults` may say about how a task runs, in the units of the scheduler. */
export interface Settings extends Omit<TaskSpec, "type" | "limits" | "amounts"> {
  /** What it counts towards which limit. */
  readonly limits: ReadonlyMap<string, number>;
  /** What it counts towards the limit of that name; beats what `limits` says of it. */
  readonly tokens: number | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly payload: unknown;
}

export const STANDARD: Settings = {
  executor: "local",
  cpuMillicores: 1000,
  memoryBytes: 0,
  estimateMs: 30_000,
  priority: 2,
  capabilities: [],
  maxAttempts: 1,
  backoffMs: 1000,
  timeoutMs: 0,
  held: false,
  limits: new Map(),
  tokens: undefined,
  risk: "medium",
  speculate: false,
  budget: [],
  env: {},
  cwd: undefined,
  cache: undefined,
  mayAdd: undefined,
  meta: undefined,
  io: undefined,
  payload: {},
};

export type Mapping = Readonly<Record<string, unknown>>;

const MAX_RETRIES = 100;
const MAX_AMOUNT = 1_000_000_000;
const MAX_NAME_CHARACTERS = 256;
const UNFIT_FOR_NAMES = /[\p{Cc}\p{Cs}]/u;
/** Of a payload; a request travels as JSON, where every level costs the reader stack. */
const MAX_PAYLOAD_DEPTH = 64;

type Draft = { -readonly [Key in keyof Settings]?: Settings[Key] };

/** What a value sets, or why it is refused. */
type Parse = (value: unknown, draft: Draft) => Refusal | undefined;

/** Reads a value that holds others, each of which may be wrong. */
type Read = (value: unknown, draft: Draft, at: Path, faults: Faults) => void;

const PARSERS: ReadonlyMap<string, Parse> = new Map([
  sets("executor", "executor", parseName),
  sets("size", "estimateMs", parseTshirtSizeMs),
  sets("estimate", "estimateMs", (value) => atLeastOneMs(parseDurationMs(value), value)),
  sets("priority", "priority", parsePriority),
  sets("retries", "maxAttempts", parseRetries),
  sets("backoff", "backoffMs", parseDurationMs),
  sets("timeout", "timeoutMs", parseTimeoutMs),
  sets("hold", "held", parseBoolean),
  sets("tokens", "tokens", parseAmount),
  sets("risk", "risk", parseRisk),
  sets("speculate", "speculate", parseBoolean),
  sets("cwd", "cwd", parseText),
  sets("cache", "cache", parseCache),
  sets("dynamic", "mayAdd", parseDynamic),
]);

const READERS: ReadonlyMap<string, Read> = new Map([
  ["resources", readResources],
  ["capabilities", readCapabilities],
  ["limits", readLimits],
  ["budget", readBudget],
  ["env", readEnv],
  ["payload", readPayload],
]);

/** Of a task whose result may be used again; a change of the version makes it another. */
function parseCache(value: unknown): string | Refusal | undefined {
  if (typeof value === "boolean") return value ? "1" : undefined;
  const version = parseName(value);
  return isRefusal(version)
    ? refused("must be true, false, or a version of the task such as v2", value)
    : version;
}

const MAX_ADDED = 100_000;

/** How many nodes an attempt may add to its run. */
function parseDynamic(value: unknown): number | Refusal | undefined {
  if (value === false) return undefined;
  if (value === true) return 1000;
  const isCount = typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MAX_ADDED;
  return isCount
    ? value
    : refused(`must be true, or how many nodes it may add, from 1 to ${MAX_ADDED}`, value);
}

export const SETTING_KEYS: readonly string[] = [...PARSERS.keys(), ...READERS.keys()];

/** What most nodes set: nothing of their own. */
export const NO_SETTINGS: Partial<Settings> = {};

/** Reads the settings in a map; other keys are the caller's. */
export function readSettings(map: Mapping, at: Path, faults: Faults): Partial<Settings> {
  let draft: Draft = NO_SETTINGS;
  for (const key in map) {
    const parse = PARSERS.get(key);
    const read = parse ? undefined : READERS.get(key);
    if (!parse && !read) continue;
    if (draft === NO_SETTINGS) draft = {};
    if (parse) {
      // An estimate beats a size, in whichever order they stand.
      const isBeaten = key === "size" && Object.hasOwn(map, "estimate");
      const refusal = parse(map[key], isBeaten ? {} : draft);
      if (refusal) refuse(faults, [...at, key], refusal);
    } else read?.(map[key], draft, [...at, key], faults);
  }
  return draft;
}

/** The words that other schedulers use for what a graph file calls by another name. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ["depends_on", "needs"],
  ["dependsOn", "needs"],
  ["dependencies", "needs"],
  ["deps", "needs"],
  ["after", "needs"],
  ["requires", "needs"],
  ["command", "run"],
  ["cmd", "run"],
  ["script", "run"],
  ["type", "task"],
  ["params", "payload"],
  ["environment", "env"],
  ["working_directory", "cwd"],
  ["workdir", "cwd"],
  ["retry", "retries"],
  ["attempts", "retries"],
  ["delay", "backoff"],
  ["duration", "estimate"],
  ["held", "hold"],
  ["tasks", "nodes"],
  ["jobs", "nodes"],
  ["steps", "nodes"],
]);

/** Refuses the keys of a map that are not known, with the one that was probably meant. */
export function refuseUnknownKeys(
  map: Mapping,
  known: readonly string[],
  at: Path,
  where: string,
  faults: Faults,
): void {
  for (const key of Object.keys(map)) {
    if (known.includes(key)) continue;
    const mend = faults.isFull ? "" : mendKey(key, known, faults.mayGuess);
    faults.atKey([...at, key], `unknown key ${shown(key)} in ${where}; ${mend}`);
  }
}

function mendKey(key: string, known: readonly string[], mayGuess: boolean): string {
  if (known.includes("resources") && (key === "cpu" || key === "memory"))
    return `write resources: {${key}: …}`;
  const word = OTHER_WORDS.get(key) ?? "";
  const meant = known.includes(word) ? word : mayGuess && closest(key, known);
  return meant ? `did you mean "${meant}"?` : `the keys here are ${known.join(", ")}`;
}

/** An id or a name: one line of text that can be shown and typed. */
export function parseName(value: unknown): string | Refusal {
  // A file of JSON has only numbers where a person means the id "7".
  const name = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof name !== "string")
    return refused(`must be a text${typeof value === "number" ? " in quotes" : ""}`, value);
  if (name === "") return { refusal: "must not be empty" };
  if (UNFIT_FOR_NAMES.test(name))
    return refused("must not contain control characters or broken Unicode", name);
  // Code units bound the characters from above, and are free to count.
  if (name.length > MAX_NAME_CHARACTERS && [...name].length > MAX_NAME_CHARACTERS) {
    return refused(`must have at most ${MAX_NAME_CHARACTERS} characters`, name);
  }
  return name;
}

/** A text that is handed to a process. */
export function parseText(value: unknown): string | Refusal {
  if (typeof value !== "string") return refused("must be a text", value);
  if (value.trim() === "") return { refusal: "must not be empty" };
  return isPassable(value) ? value : refused("must not contain NUL characters or broken Unicode", value);
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isRefusal(value: unknown): value is Refusal {
  return isMapping(value) && "refusal" in value;
}

function sets<Key extends keyof Settings>(
  name: string,
  key: Key,
  parse: (value: unknown) => Settings[Key] | Refusal,
): [string, Parse] {
  return [
    name,
    (value, draft) => {
      const parsed = parse(value);
      if (isRefusal(parsed)) return parsed;
      draft[key] = parsed;
      return undefined;
    },
  ];
}

function refuse(faults: Faults, at: Path, { refusal }: Refusal): void {
  faults.atValue(at, `${fieldOf(at)} ${refusal}`);
}

/** `timeout`, `resources.cpu` or `env.PATH`: the path from the node or the defaults on. */
function fieldOf(at: Path): string {
  return at
    .slice(at[0] === "nodes" ? 2 : 1)
    .map((step) => shortened(String(step)))
    .join(".");
}

const RESOURCES = [
  sets("cpu", "cpuMillicores", parseCpuMillicores),
  sets("memory", "memoryBytes", parseMemoryBytes),
];
const RESOURCE_KEYS = RESOURCES.map(([key]) => key);

function readResources(value: unknown, draft: Draft, at: Path, faults: Faults): void {
  if (!isMapping(value)) {
    refuse(faults, at, refused("must be a map such as {cpu: 0.5, memory: 512MiB}", value));
    return;
  }
  refuseUnknownKeys(value, RESOURCE_KEYS, at, "resources", faults);
  for (const [key, parse] of RESOURCES) {
    const refusal = Object.hasOwn(value, key) ? parse(value[key], draft) : undefined;
    if (refusal) refuse(faults, [...at, key], refusal);
  }
}

function readCapabilities(value: unknown, draft: Draft, at: Path, faults: Faults): void {
  const names = readNames(value, at, faults, "must be a list of texts such as [net]");
  // The default sort is by code unit, which is the order that the scheduler keeps everywhere.
  if (names) draft.capabilities = [...names].sort();
}

/** Names, each of which it counts one towards, or a map with what it counts. */
function readLimits(value: unknown, draft: Draft, at: Path, faults: Faults): void {
  if (!isMapping(value)) {
    const names = readNames(value, at, faults, "must be a list such as [openai] or a map such as {gpu: 2}");
    if (names) draft.limits = new Map([...names].map((name) => [name, 1]));
    return;
  }
  const amounts = new Map<string, number>();
  for (const key of Object.keys(value)) {
    const name = parseName(key);
    const amount = parseAmount(value[key]);
    if (isRefusal(name)) faults.atKey([...at, key], `a name in limits ${name.refusal}`);
    else if (isRefusal(amount)) refuse(faults, [...at, key], amount);
    else amounts.set(name, amount);
  }
  if (!refusesTooMany(amounts.size, at, faults)) draft.limits = amounts;
}

const BUDGET: ReadonlyMap<string, BudgetPart> = new Map([
  ["ops", "ops"],
  ["memory", "memory"],
  ["spawn_count", "spawnCount"],
  ["channel_ops", "channelOps"],
  ["syscalls", "syscalls"],
]);

function readBudget(value: unknown, draft: Draft, at: Path, faults: Faults): void {
  if (!isMapping(value)) {
    refuse(faults, at, refused("must be a map such as {ops: 50000, memory: 16MiB}", value));
    return;
  }
  refuseUnknownKeys(value, [...BUDGET.keys(), "on_exhausted"], at, "budget", faults);
  const asked: Partial<Record<BudgetPart, number>> = {};
  for (const [key, part] of BUDGET) {
    if (!Object.hasOwn(value, key)) continue;
    const amount = part === "memory" ? parseMemoryBytes(value[key]) : parseCount(value[key]);
    if (isRefusal(amount)) refuse(faults, [...at, key], amount);
    else asked[part] = amount;
  }
  const { on_exhausted: then = "wait" } = value as { on_exhausted?: unknown };
  if (then !== "wait" && then !== "fail")
    refuse(faults, [...at, "on_exhausted"], refused("must be wait or fail", then));
  draft.budget = taskBudget(asked, then === "wait");
}

function parseCount(value: unknown): number | Refusal {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32
    ? (value as number)
    : refused("must be a whole number from 0 to 4294967295", value);
}

function readNames(
  value: unknown,
  at: Path,
  faults: Faults,
  expected: string,
): ReadonlySet<string> | undefined {
  const list: unknown = typeof value === "string" ? [value] : value;
  if (!Array.isArray(list)) {
    refuse(faults, at, refused(expected, value));
    return undefined;
  }
  const names = new Set<string>();
  for (const [index, item] of list.entries()) {
    const name = parseName(item);
    if (isRefusal(name)) refuse(faults, [...at, index], name);
    else names.add(name);
  }
  if (refusesTooMany(names.size, at, faults)) return undefined;
  return names;
}

function refusesTooMany(count: number, at: Path, faults: Faults): boolean {
  if (count <= MAX_NAMES) return false;
  refuse(faults, at, { refusal: `must not have more than ${MAX_NAMES} names, got ${count}` });
  return true;
}

function readEnv(value: unknown, draft: Draft, at: Path, faults: Faults): void {
  if (!isMapping(value)) {
    refuse(faults, at, refused("must be a map such as {LEVEL: debug}", value));
    return;
  }
  const env: [string, string][] = [];
  for (const name of Object.keys(value)) {
    const variable = Number.isSafeInteger(value[name]) ? String(value[name]) : value[name];
    if (name === "" || name.includes("=") || !isPassable(name)) {
      const message = `env must not have a variable ${shown(name)}; a name is not empty and has no "="`;
      faults.atKey([...at, name], message);
    } else if (typeof variable !== "string") {
      refuse(
        faults,
        [...at, name],
        refused('must be a text; put it in quotes ("" for an empty one)', variable),
      );
    } else if (!isPassable(variable)) {
      refuse(faults, [...at, name], refused("must not contain NUL characters or broken Unicode", variable));
    } else env.push([name, variable]);
  }
  draft.env = Object.fromEntries(env);
}

function readPayload(value: unknown, draft: Draft, at: Path, faults: Faults): void {
  const wrong = findNotJson(value);
  if (wrong) refuse(faults, [...at, ...wrong.path], wrong);
  else draft.payload = value;
}

/** JSON has no NaN, and a request is hashed as UTF-8, where two broken texts would look alike. */
function findNotJson(value: unknown, depth = 0): (Refusal & { readonly path: Path }) | undefined {
  if (typeof value === "number" && !Number.isFinite(value))
    return { path: [], ...refused("must be a finite number", value) };
  if (typeof value === "string" && !value.isWellFormed())
    return { path: [], refusal: "must not contain broken Unicode" };
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= MAX_PAYLOAD_DEPTH)
    return { path: [], refusal: `must be at most ${MAX_PAYLOAD_DEPTH} levels deep` };
  // A path is only made for what is wrong: a payload may have millions of members.
  for (const step of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    if (typeof step === "string" && !step.isWellFormed())
      return { path: [step], refusal: "must not have broken Unicode in its key" };
    const wrong = findNotJson((value as Record<string | number, unknown>)[step], depth + 1);
    if (wrong) return { ...wrong, path: [step, ...wrong.path] };
  }
  return undefined;
}

function parseTimeoutMs(value: unknown): number | Refusal {
  // 0 stands for no limit, which is not what somebody means who asks for a tenth of a millisecond.
  return value === 0 ? 0 : atLeastOneMs(parseDurationMs(value), value);
}

function atLeastOneMs(ms: number | Refusal, value: unknown): number | Refusal {
  return ms === 0 ? refused("must be at least 1ms", value) : ms;
}

function parseRetries(value: unknown): number | Refusal {
  const isCount = Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_RETRIES;
  return isCount ? Number(value) + 1 : refused(`must be a whole number from 0 to ${MAX_RETRIES}`, value);
}

function parseAmount(value: unknown): number | Refusal {
  const isAmount = Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_AMOUNT;
  return isAmount ? Number(value) : refused(`must be a whole number from 0 to ${MAX_AMOUNT}`, value);
}

function parseRisk(value: unknown): Risk | Refusal {
  return RISKS.find((risk) => risk === value) ?? refused(`must be one of ${RISKS.join(", ")}`, value);
}

function parseBoolean(value: unknown): boolean | Refusal {
  return typeof value === "boolean" ? value : refused("must be true or false", value);
}

function isPassable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}
