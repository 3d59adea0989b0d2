import type { Report } from "../protocol/index.ts";

export type Expansion = NonNullable<Extract<Report, { type: "finished" }>["expansion"]>;

/** Known by a registered symbol: the graph may have been made by another copy of the client. */
const EXPANSION: unique symbol = Symbol.for("orrery.expansion") as never;

/** What a task returns by `graph().expand(node)`: nodes for its run instead of a result. */
export function expansionIn(result: unknown): Expansion | undefined {
  if (typeof result !== "object" || result === null || !(EXPANSION in result)) return undefined;
  return result[EXPANSION] as Expansion;
}

/** The same again, for one that came from another thread, where symbols do not go. */
export function expanding(expansion: Expansion): object {
  return { [EXPANSION]: expansion };
}
