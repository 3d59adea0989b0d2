/**
 * The language that tasks are filtered by: `status:queued,running agent:a1 class:batch type:resize wait>5m`. Terms are
 * separated by spaces and all of them must fit; a value with spaces stands in double quotes. The server reads it, and
 * the dashboard completes it; so nothing is loaded here that a browser does not need.
 */
import { closest } from "./suggestion.ts";
import { parseDurationMs } from "./units.ts";

export interface FilterTerms {
  readonly status?: readonly string[];
  readonly agent?: string;
  readonly class?: string;
  readonly type?: string;
  readonly executor?: string;
  readonly run?: string;
  /** How long it waited, or waits. */
  readonly waitMs?: { readonly min?: number; readonly max?: number };
}

export interface FilterProblem {
  /** Of the first character of the term that is wrong. */
  readonly at: number;
  /** The end of a sentence that begins with "the filter". */
  readonly detail: string;
}

interface FilterKey {
  readonly name: keyof FilterTerms | "wait";
  readonly does: string;
  /** The only values that there are. */
  readonly values?: readonly string[];
}

export const FILTER_KEYS: readonly FilterKey[] = [
  {
    name: "status",
    does: "where it is in its life",
    values: ["queued", "running", "completed", "failed", "cancelled"],
  },
  { name: "class", does: "what the queue orders by first", values: ["interactive", "batch", "background"] },
  { name: "type", does: "what the worker shall do" },
  { name: "executor", does: "who should run it" },
  { name: "agent", does: "who submitted it" },
  { name: "run", does: "the run that it belongs to" },
  { name: "wait", does: "how long it waited, or waits: wait>5m, wait<1h" },
];

const TERM = /\S*?"[^"]*"|\S+/g;
const NAMES = FILTER_KEYS.map(({ name }) => name);

export function readFilter(text: string): FilterTerms | FilterProblem {
  const terms: Record<string, unknown> = {};
  for (const match of text.matchAll(TERM)) {
    const problem = addTerm(terms, match[0]);
    if (problem !== undefined) return { at: match.index, detail: problem };
  }
  return terms;
}

export function isFilterProblem(read: FilterTerms | FilterProblem): read is FilterProblem {
  return "detail" in read;
}

/** What is wrong with the term; undefined: it was added. */
function addTerm(terms: Record<string, unknown>, text: string): string | undefined {
  const [, name = "", sign = "", quoted, plain] = /^(\w+)([:<>])(?:"([^"]*)"|(.*))$/.exec(text) ?? [];
  const value = quoted ?? plain ?? "";
  if (name === "")
    return `has "${text}", which is no term; write key:value, with a key of ${NAMES.join(", ")}`;
  const key = FILTER_KEYS.find((one) => one.name === name);
  if (!key) return `has no key "${name}"${meant(name, NAMES)}`;
  if (value === "") return `has no value behind ${name}${sign}`;
  if (name === "wait") return addWait(terms, sign, value);
  if (sign !== ":") return `compares ${name}, which only has values: ${name}:…`;
  if (name in terms) return `has ${name} twice; several statuses stand in one term with commas`;
  const values = name === "status" ? value.split(",") : [value];
  const unknown = key.values && values.find((one) => !key.values?.includes(one));
  if (unknown !== undefined) return `has no ${name} "${unknown}"${meant(unknown, key.values ?? [])}`;
  terms[name] = name === "status" ? values : value;
  return undefined;
}

function addWait(terms: Record<string, unknown>, sign: string, value: string): string | undefined {
  if (sign === ":") return "compares waits with > or <, such as wait>5m";
  const ms = parseDurationMs(value);
  if (typeof ms !== "number") return `has a wait that ${ms.refusal}`;
  const bound = sign === ">" ? { min: ms } : { max: ms };
  terms["waitMs"] = { ...(terms["waitMs"] as object | undefined), ...bound };
  return undefined;
}

function meant(word: string, known: readonly string[]): string {
  const close = closest(word, known);
  return close === undefined ? `; there are ${known.join(", ")}` : `; did you mean "${close}"?`;
}
