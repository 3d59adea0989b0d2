import { serialize } from "node:v8";

/** Deeper ones exhaust the stack. */
const MAX_DEPTH = 1_000;

/** Where in a value stands what cannot be cloned, as in `.rows[3].done`, and what it is. */
export function findUnclonable(value: unknown): { readonly path: string; readonly what: string } {
  return new Search().within(value, "", 0) ?? { path: "", what: problemOf(value) ?? "it cannot be cloned" };
}

interface Found {
  readonly path: string;
  readonly what: string;
}

class Search {
  readonly #seen = new Set<object>();

  /** The innermost one: what holds it cannot be cloned either. */
  within(value: unknown, path: string, depth: number): Found | undefined {
    if (typeof value === "function" || typeof value === "symbol")
      return { path, what: `it is a ${typeof value}` };
    if (typeof value !== "object" || value === null || this.#seen.has(value)) return undefined;
    if (depth > MAX_DEPTH) return { path: "", what: `it is nested more than ${MAX_DEPTH} deep` };
    this.#seen.add(value);
    for (const [step, member] of membersOf(value)) {
      const found = this.within(member, path + step, depth + 1);
      if (found) return found;
    }
    const what = problemOf(value);
    return what === undefined ? undefined : { path, what };
  }
}

function membersOf(value: object): [step: string, member: unknown][] {
  if (Array.isArray(value)) return value.map((item, index) => [`[${index}]`, item]);
  if (value instanceof Set) return [...value].map((item, index) => [`.values()[${index}]`, item]);
  if (value instanceof Map)
    return [...value].flatMap(([key, member]) => [
      [".keys()", key],
      [`.get(${stepText(key)})`, member],
    ]);
  if (ArrayBuffer.isView(value)) return [];
  return Object.entries(value).map(([key, member]) => [
    /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
    member,
  ]);
}

function stepText(key: unknown): string {
  return typeof key === "string" ? JSON.stringify(key) : typeof key === "object" ? "…" : String(key);
}

function problemOf(value: unknown): string | undefined {
  try {
    serialize(value);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
