import type { Report } from "../protocol/index.ts";
import { PermanentError } from "./permanent-error.ts";

export type Expansion = NonNullable<Extract<Report, { type: "finished" }>["expansion"]>;

/** Known by a registered symbol: the graph may have been made by another copy of the client. */
const EXPANSION: unique symbol = Symbol.for("orrery.expansion") as never;

/** A report with more the server would not read, and it would be sent again and again: messages of workers have up to 4 MiB. */
const MAX_BYTES = 3 * 1024 * 1024;

/** What a task returns by `graph().expand(node)`: nodes for its run instead of a result. */
export function expansionIn(result: unknown): Expansion | undefined {
  if (typeof result !== "object" || result === null || !(EXPANSION in result)) return undefined;
  return result[EXPANSION] as Expansion;
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
