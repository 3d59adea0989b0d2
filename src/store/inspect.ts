import type { DatabaseFacts } from "./postgres/inspect.ts";

export { type DataDirFacts, inspectDataDir } from "./embedded/inspect.ts";
export type { DatabaseFacts } from "./postgres/inspect.ts";

/** Looks at a database without changing it. Loaded late, as the driver is wherever it is used. */
export async function inspectDatabase(url: string): Promise<DatabaseFacts> {
  return await (await import("./postgres/inspect.ts")).inspectDatabase(url);
}
