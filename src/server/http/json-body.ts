import type { ErrorItem } from "../../protocol/api-schemas.ts";
import { findJsonError, roundedInteger, shortened, shown } from "../../protocol/index.ts";
import { invalid, Problem } from "./problems.ts";
import { escaped } from "./validation.ts";

/** Deeper values exhaust the stack of whoever walks them. */
const MAX_DEPTH = 100;
/** More of them keep everyone else waiting for whoever goes through them. */
const MAX_VALUES = 2_000_000;
/** As many as a graph may have nodes. */
const MAX_KEYS = 100_000;
/** Beyond it, where the syntax is broken is not looked for. */
const MAX_EXPLAINED = 1024 * 1024;
const BYTE_ORDER_MARK = 0xfeff;

interface Seen {
  readonly allowsPrototype: boolean;
  values: number;
  /** There is a whole number that may have lost digits. */
  isLarge: boolean;
}

export interface JsonOptions {
  /** Whether whole numbers may lose digits: the result of a worker is worth more than its last digits. */
  readonly mayRound?: boolean;
  /** Whether `__proto__` may be a key. */
  readonly allowsPrototype?: boolean;
  /** May throw at a value that is not worth a closer look. */
  readonly refuse?: (value: unknown) => void;
}

/**
 * Reads JSON from outside. Throws a problem at a value that is nested too deeply, at a number that is too large to be one
 * (1e999 is infinite, which JSON cannot say again), and at a whole number that would lose digits.
 */
export function readJsonText(text: string, options: JsonOptions = {}): unknown {
  const { mayRound = false, allowsPrototype = false, refuse } = options;
  let value: unknown;
  try {
    value = JSON.parse(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text);
  } catch {
    throw explained(text);
  }
  refuse?.(value);
  const seen: Seen = { values: 0, isLarge: false, allowsPrototype };
  const unfit = findUnfit(value, 0, seen);
  if (unfit) throw invalid([unfit]);
  if (seen.isLarge && !mayRound) refuseRounded(text);
  return value;
}

function refuseRounded(text: string): void {
  const rounded = roundedInteger(text);
  if (rounded === undefined) return;
  const detail = `has ${shortened(rounded)}, which has more digits than a number can; send it as a text`;
  throw invalid([{ in: "body", pointer: "", detail }]);
}

function explained(text: string): Problem {
  const error = text.length > MAX_EXPLAINED ? undefined : findJsonError(text);
  if (error) {
    const found = text.slice(error.offset, error.offset + 1);
    const got = found === "" ? "it ends" : `there is ${shown(found)}`;
    return new Problem(
      "malformed",
      `the body is not JSON: at offset ${error.offset} it needs ${error.expected}, but ${got}`,
    );
  }
  return new Problem("malformed", "the body is not JSON");
}

function findUnfit(value: unknown, depth: number, seen: Seen): ErrorItem | undefined {
  seen.values += 1;
  if (seen.values > MAX_VALUES)
    return { in: "body", pointer: "", detail: `makes it more than ${MAX_VALUES} values in all; send fewer` };
  if (typeof value === "number" && !Number.isFinite(value)) {
    return { in: "body", pointer: "", detail: "is too large for a number; send it as a text" };
  }
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) seen.isLarge = true;
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= MAX_DEPTH)
    return { in: "body", pointer: "", detail: `is nested more than ${MAX_DEPTH} deep; flatten it` };
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const unfit = findUnfit(value[index], depth + 1, seen);
      if (unfit) return below(unfit, String(index));
    }
    return undefined;
  }
  const keys = Object.keys(value);
  if (keys.length > MAX_KEYS)
    return { in: "body", pointer: "", detail: `has more than ${MAX_KEYS} keys; send fewer` };
  for (const key of keys) {
    if (!seen.allowsPrototype && isPrototype(key, value)) {
      const detail = 'must not have the key "__proto__", nor a "constructor" with a "prototype"';
      return { in: "body", pointer: "", detail };
    }
    const unfit = findUnfit((value as Record<string, unknown>)[key], depth + 1, seen);
    if (unfit) return below(unfit, key);
  }
  return undefined;
}

function isPrototype(key: string, value: object): boolean {
  if (key === "__proto__") return true;
  if (key !== "constructor") return false;
  const { constructor: made } = value as { readonly constructor: unknown };
  return typeof made === "object" && made !== null && Object.hasOwn(made, "prototype");
}

function below(unfit: ErrorItem, step: string): ErrorItem {
  return { ...unfit, pointer: `/${escaped(step)}${unfit.pointer}` };
}
