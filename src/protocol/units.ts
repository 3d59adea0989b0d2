import type { Priority } from "../graph/index.ts";

/** Why a value is not taken: the end of a sentence that begins with the field's name. */
export interface Refusal {
  readonly refusal: string;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const MAX_DURATION_MS: number = 3650 * DAY;
const MAX_CPU_MILLICORES = 1_000_000_000;

const DURATION =
  /^(?:(\d+(?:\.\d+)?) ?d)? ?(?:(\d+(?:\.\d+)?) ?h)? ?(?:(\d+(?:\.\d+)?) ?m)? ?(?:(\d+(?:\.\d+)?) ?s)? ?(?:(\d+(?:\.\d+)?) ?ms)?$/;
const DURATION_UNITS_MS = [DAY, HOUR, MINUTE, SECOND, 1] as const;

const SIZE = /^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/;
const SIZE_UNITS_BYTES: ReadonlyMap<string, number> = new Map([
  ["B", 1],
  ["KB", 1000],
  ["kB", 1000],
  ["MB", 1000 ** 2],
  ["GB", 1000 ** 3],
  ["TB", 1000 ** 4],
  ["KiB", 1024],
  ["MiB", 1024 ** 2],
  ["GiB", 1024 ** 3],
  ["TiB", 1024 ** 4],
]);

const TSHIRT_HOURS: ReadonlyMap<unknown, number> = new Map([
  ["XS", 1],
  ["S", 2],
  ["M", 4],
  ["L", 8],
  ["XL", 16],
]);

const PRIORITIES = ["critical", "high", "normal", "low", "best_effort"];

/** Longer texts are no quantity, and their digits would only keep the arithmetic busy. */
const MAX_TEXT = 64;
const MAX_SHOWN_NAME = 100;

/** A duration in milliseconds: a number of seconds, or a text such as `1h30m`. */
export function parseDurationMs(value: unknown): number | Refusal {
  const expected = 'must be a duration such as 90s, 1h30m, "250ms" or 2d, or a number of seconds';
  if (typeof value === "number") {
    return refuseNumber(value) ?? inRange(scaled([[String(value), SECOND]]), MAX_DURATION_MS, "10 years");
  }
  if (typeof value !== "string" || value.length > MAX_TEXT) return refused(expected, value);
  if (isDecimal(value)) return refused(`${expected}; add a unit ("${value}s") or remove the quotes`, value);
  const parts = DURATION.exec(value)?.slice(1);
  const given = (parts ?? []).flatMap((decimal, unit): Part[] =>
    decimal === undefined ? [] : [[decimal, DURATION_UNITS_MS[unit] as number]],
  );
  if (given.length === 0) return refused(expected, value);
  return inRange(scaled(given), MAX_DURATION_MS, "10 years");
}

/** Processor time: a number of cores, or a text of millicores such as `500m`. */
export function parseCpuMillicores(value: unknown): number | Refusal {
  const expected = 'must be a number of cores such as 0.5, or millicores such as "500m"';
  if (typeof value === "number") {
    const millicores = refuseNumber(value) ?? inRange(scaled([[String(value), 1000]]), MAX_CPU_MILLICORES);
    if (millicores === 0 && value > 0) return refused("must be 0, or at least a millicore (0.001)", value);
    return millicores;
  }
  if (typeof value !== "string" || value.length > MAX_TEXT) return refused(expected, value);
  if (isDecimal(value)) return refused(`${expected}; remove the quotes`, value);
  const millicores = /^(\d+) ?m$/.exec(value)?.[1];
  if (millicores === undefined) return refused(expected, value);
  return inRange(BigInt(millicores), MAX_CPU_MILLICORES);
}

/** Memory in bytes: a whole number, or a text such as `512MiB`. */
export function parseMemoryBytes(value: unknown): number | Refusal {
  const expected = "must be a whole number of bytes, or a size such as 512MiB or 2GB";
  if (typeof value === "number") {
    if (Number.isFinite(value) && !Number.isInteger(value)) return refused(expected, value);
    return refuseNumber(value) ?? inRange(BigInt(value), Number.MAX_SAFE_INTEGER);
  }
  if (typeof value !== "string" || value.length > MAX_TEXT) return refused(expected, value);
  const [, decimal = "", unit = ""] = SIZE.exec(value) ?? [];
  const bytes = SIZE_UNITS_BYTES.get(unit);
  if (isDecimal(value)) return refused(`${expected}; add a unit ("${value}MiB") or remove the quotes`, value);
  if (bytes === undefined)
    return refused(`${expected}; units are B, KB, MB, GB, TB, KiB, MiB, GiB and TiB`, value);
  return inRange(scaled([[decimal, bytes]]), Number.MAX_SAFE_INTEGER);
}

export function parseTshirtSizeMs(value: unknown): number | Refusal {
  const hours = TSHIRT_HOURS.get(value);
  return hours === undefined ? refused("must be XS, S, M, L or XL", value) : hours * HOUR;
}

export function parsePriority(value: unknown): Priority | Refusal {
  let level = -1;
  if (typeof value === "number") level = value;
  else if (typeof value === "string")
    level = Math.max(PRIORITIES.indexOf(value), /^P[0-4]$/.test(value) ? Number(value[1]) : -1);
  if (level === 0 || level === 1 || level === 2 || level === 3 || level === 4) return level;
  return refused(
    `must be ${PRIORITIES.slice(0, -1).join(", ")} or best_effort (or 0 to 4, or P0 to P4)`,
    value,
  );
}

export function refused(expected: string, value: unknown): Refusal {
  return { refusal: `${expected}; got ${shown(value)}` };
}

/** A value as it may stand in a message: short, and without walking into what may be large. */
export function shown(value: unknown): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  if (typeof value !== "string") return String(value);
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}

/** A name as it may stand in a message or a path, which are for people. */
export function shortened(name: string): string {
  return name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
}

function isDecimal(text: string): boolean {
  return /^\d+(?:\.\d+)?$/.test(text);
}

function refuseNumber(value: number): Refusal | undefined {
  if (!Number.isFinite(value)) return refused("must be a finite number", value);
  return value < 0 ? refused("must not be negative", value) : undefined;
}

function inRange(value: bigint, max: number, maxText: string = String(max)): number | Refusal {
  return value > BigInt(max) ? { refusal: `must be at most ${maxText}` } : Number(value);
}

type Part = readonly [decimal: string, factor: number];

/**
 * The sum of decimals times their factors, rounded half up.
 *
 * In whole numbers, because 1.0005 s is 1000.4999… ms in binary fractions and would round the wrong way.
 */
function scaled(parts: readonly Part[]): bigint {
  const product = parts.reduce((sum, [decimal, factor]) => sum + Number(decimal) * factor, 0);
  // Below 2 ** 48 the error is far under a half, so what comes out whole rounds to just that.
  if (Number.isInteger(product) && product < 2 ** 48) return BigInt(product);
  const exact = parts.map(([decimal, factor]) => {
    const [mantissa = "", exponent = "0"] = decimal.split("e");
    const [whole = "", fraction = ""] = mantissa.split(".");
    return { digits: BigInt(whole + fraction) * BigInt(factor), scale: fraction.length - Number(exponent) };
  });
  const scale = Math.max(0, ...exact.map((part) => part.scale));
  const one = 10n ** BigInt(scale);
  const total = exact.reduce((sum, part) => sum + part.digits * 10n ** BigInt(scale - part.scale), 0n);
  return (2n * total + one) / (2n * one);
}
