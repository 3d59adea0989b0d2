import {
  type Path,
  parseCpuMillicores,
  parseDurationMs,
  parseMemoryBytes,
  refused,
  type UnitRefusal,
} from "../protocol/index.ts";
import { cpuText, durationText, sizeText } from "./quantity-text.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Told why a value, or one within it, is not taken: the end of a sentence that begins with the setting's name. */
export type Refuse = (refusal: string, ...at: Path) => void;

/** What a setting may be: reading, writing and describing it in one place. */
export interface ValueType<Value> {
  /** From a file, into the units of the code. Undefined: it was refused. */
  readonly parse: (value: unknown, refuse: Refuse) => Value | undefined;
  /** As a file would have it. */
  write(value: Value): unknown;
  /** What an option or a variable says, as a file would have it. */
  readonly fromText: (text: string) => unknown;
  readonly schema: JsonSchema;
  /** For people: what it may be. */
  readonly words: string;
  /** A number or boolean in its place is a text without quotes. */
  readonly keepsText?: true;
}

const DECIMAL = /^-?\d{1,16}(\.\d{1,9})?$/;

/** What is written without quotes. */
function wordOf(text: string): unknown {
  if (DECIMAL.test(text)) return Number(text);
  if (text === "null") return null;
  return text === "true" ? true : text === "false" ? false : text;
}

function scalar<Value>(
  parse: (value: unknown) => Value | UnitRefusal,
  schema: JsonSchema,
  words: string,
  write: (value: Value) => unknown = (value) => value,
): ValueType<Value> {
  return {
    parse: (value, refuse) => {
      const parsed = parse(value);
      if (!isRefusal(parsed)) return parsed;
      refuse(parsed.refusal);
      return undefined;
    },
    write,
    fromText: wordOf,
    schema,
    words,
  };
}

function isRefusal(value: unknown): value is UnitRefusal {
  return typeof value === "object" && value !== null && "refusal" in value;
}

export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): ValueType<number> {
  const words = `a whole number ${range(least, most)}`;
  const isFit = (value: unknown) => Number.isSafeInteger(value) && isBetween(value as number, least, most);
  return scalar(
    (value) => (isFit(value) ? (value as number) : refused(`must be ${words}`, value)),
    { type: "integer", minimum: least, ...(most < Number.MAX_SAFE_INTEGER && { maximum: most }) },
    words,
  );
}

export function decimal(least: number, most: number): ValueType<number> {
  const words = `a number ${range(least, most)}`;
  return scalar(
    (value) =>
      typeof value === "number" && isBetween(value, least, most) ? value : refused(`must be ${words}`, value),
    { type: "number", minimum: least, maximum: most },
    words,
  );
}

/** A part of the whole, in steps of a thousandth, which is what the code counts. */
export function share(): ValueType<number> {
  const words = "a number from 0 to 1";
  return scalar(
    (value) =>
      typeof value === "number" && isBetween(value, 0, 1)
        ? Math.round(value * 1000)
        : refused(`must be ${words}`, value),
    { type: "number", minimum: 0, maximum: 1 },
    words,
    (permille) => permille / 1000,
  );
}

export const TRUE_OR_FALSE: ValueType<boolean> = {
  ...scalar<boolean>(
    (value) => (typeof value === "boolean" ? value : refused("must be true or false", value)),
    { type: "boolean" },
    "true or false",
  ),
  fromText: (text) =>
    /^(1|true|yes|on)$/i.test(text) ? true : /^(0|false|no|off)$/i.test(text) ? false : text,
};

export function choice<const Word extends string>(...choices: readonly Word[]): ValueType<Word> {
  const words = `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  return scalar<Word>(
    (value) => choices.find((word) => word === value) ?? refused(`must be ${words}`, value),
    { enum: choices },
    words,
  );
}

export interface DurationBounds {
  readonly leastMs?: number;
  readonly mostMs?: number;
  /** What a number without a unit counts, where the setting's name or habit says so. */
  readonly plain?: "seconds" | "hours" | "days";
  /** The key names that unit, so a number alone is the usual form. */
  readonly isNamed?: true;
}

const PLAIN_MS = { seconds: 1000, hours: 3_600_000, days: 86_400_000 } as const;
const DURATION_PATTERN =
  "^(?:\\d+(?:\\.\\d+)? ?d)? ?(?:\\d+(?:\\.\\d+)? ?h)? ?(?:\\d+(?:\\.\\d+)? ?m)? ?(?:\\d+(?:\\.\\d+)? ?s)? ?(?:\\d+(?:\\.\\d+)? ?ms)?$";

export function duration(bounds: DurationBounds = {}): ValueType<number> {
  const { leastMs = 0, mostMs = 3650 * PLAIN_MS.days, plain = "seconds", isNamed } = bounds;
  const words = `a duration such as 90s or 1h30m, or a number of ${plain}`;
  const parse = (value: unknown): number | UnitRefusal => {
    const isPlain = typeof value === "number" && plain !== "seconds";
    const ms = isPlain ? plainMs(value, plain) : parseDurationMs(value);
    if (typeof ms !== "number") return isPlain || isNumber(value) ? ms : refused(`must be ${words}`, value);
    if (ms < leastMs) return refused(`must be at least ${durationText(leastMs)}`, value);
    return ms > mostMs ? refused(`must be at most ${durationText(mostMs)}`, value) : ms;
  };
  const number = { type: "number", minimum: leastMs / PLAIN_MS[plain], maximum: mostMs / PLAIN_MS[plain] };
  const text = { type: "string", pattern: DURATION_PATTERN, minLength: 2 };
  const write = isNamed ? (ms: number) => ms / PLAIN_MS[plain] : durationText;
  return scalar(parse, { anyOf: [number, text] }, words, write);
}

function plainMs(value: number, plain: "hours" | "days"): number | UnitRefusal {
  if (!Number.isFinite(value) || value < 0) return refused(`must be a number of ${plain} from 0 on`, value);
  return Math.round(value * PLAIN_MS[plain]);
}

export const SIZE: ValueType<number> = scalar(
  parseMemoryBytes,
  { anyOf: [{ type: "integer", minimum: 0 }, { type: "string" }] },
  "a number of bytes, or a size such as 512MiB",
  sizeText,
);

export const CORES: ValueType<number> = scalar(
  parseCpuMillicores,
  {
    anyOf: [
      { type: "number", minimum: 0 },
      { type: "string", pattern: "^\\d+ ?m$" },
    ],
  },
  "a number of cores such as 0.5, or 500m",
  cpuText,
);

/** A text that `problemWith` finds nothing wrong with. */
export function text(words: string, problemWith?: (text: string) => boolean): ValueType<string> {
  const isFit = (value: unknown) =>
    typeof value === "string" &&
    value.trim() !== "" &&
    !/\p{Cc}/u.test(value) &&
    value.isWellFormed() &&
    !problemWith?.(value);
  const type = scalar(
    (value) => (isFit(value) ? (value as string) : refused(`must be ${words}`, value)),
    { type: "string", minLength: 1 },
    words,
  );
  return { ...type, fromText: (written) => written, keepsText: true };
}

export function list<Value>(
  of: ValueType<Value>,
  example: string,
  least: 0 | 1 = 0,
): ValueType<readonly Value[]> {
  const words = `a list such as ${example}`;
  return {
    parse: (value, refuse) => {
      if (!Array.isArray(value) || value.length < least) {
        const wanted = Array.isArray(value) ? `must have at least ${least} entry` : `must be ${words}`;
        refuse(refused(wanted, value).refusal);
        return undefined;
      }
      const parsed = value.map((item, at) =>
        of.parse(item, (refusal, ...within) => refuse(refusal, at, ...within)),
      );
      return parsed.includes(undefined) ? undefined : (parsed as Value[]);
    },
    write: (values) => values.map(of.write),
    fromText: (text) =>
      text
        .replace(/^\[(.*)\]$/s, "$1")
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "")
        .map(of.fromText),
    schema: { type: "array", items: of.schema, ...(least > 0 && { minItems: least }) },
    words: `${words}; each ${of.words}`,
    ...(of.keepsText && { keepsText: true }),
  };
}

export function orNull<Value>(of: ValueType<Value>, meaning: string): ValueType<Value | null> {
  return {
    ...of,
    parse: (value, refuse) =>
      value === null
        ? null
        : of.parse(value, (refusal, ...at) => refuse(refusal.replace(/(; got|$)/, `, or null$1`), ...at)),
    write: (value) => (value === null ? null : of.write(value)),
    schema: { anyOf: [of.schema, { type: "null" }] },
    words: `${of.words}, or null: ${meaning}`,
  };
}

/** There is no default, or one that is found out only when it runs. */
export function optional<Value>(of: ValueType<Value>): ValueType<Value | undefined> {
  return { ...of, write: (value) => (value === undefined ? undefined : of.write(value)) };
}

function range(least: number, most: number): string {
  return most < Number.MAX_SAFE_INTEGER ? `from ${least} to ${most}` : `from ${least} on`;
}

function isBetween(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

function isNumber(value: unknown): boolean {
  return typeof value === "number";
}
