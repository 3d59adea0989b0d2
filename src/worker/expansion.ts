import type { Report } from "../protocol/index.ts";
import { PermanentError } from "./permanent-error.ts";

export type Expansion = NonNullable<Extract<Report, { type: "finished" }>["expansion"]>;

/** Known by a registered symbol: the graph may have been made by another copy of the client. */
const EXPANSION: unique symbol = Symbol.for("orrery.expansion") as never;

/** A report with more the server would not read, and it would be sent again and again: messages of workers have up to 4 MiB. */
const MAX_BYTES = 3 * 1024 * 1024;

const MAX_NAME_CHARS = 256;

/** What a task returns by `graph().expand(node)`: nodes for its run instead of a result. */
export function expansionIn(result: unknown): Expansion | undefined {
  if (typeof result !== "object" || result === null || !(EXPANSION in result)) return undefined;
  const expansion = result[EXPANSION];
  if (isExpansion(expansion)) return expansion;
  // The server would refuse the report, and take the worker for one that is not fit.
  throw new PermanentError("what it returned is no graph as expand(…) makes them", { code: "bad-expansion" });
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_NAME_CHARS;
}

function isExpansion(value: unknown): value is Expansion {
  if (typeof value !== "object" || value === null) return false;
  const { graph, result } = value as Readonly<Record<string, unknown>>;
  return typeof graph === "object" && graph !== null && !Array.isArray(graph) && isName(result);
}

export function checkSize(expansion: Expansion): void {
  const bytes = Buffer.byteLength(JSON.stringify(expansion));
  if (bytes <= MAX_BYTES) return;
  throw new PermanentError(
    `the nodes that it returned take ${bytes} bytes, and may take ${MAX_BYTES}; let some of them be dynamic, and add the others`,
    { code: "expansion-too-large" },
  );
}

/** The same again, for one that came from another thread, where symbols do not go. */
export function expanding(expansion: Expansion): object {
  return { [EXPANSION]: expansion };
}
