import type { DatabaseFacts } from "./postgres/inspect.ts";

export { type DataDirFacts, inspectDataDir } from "./embedded/inspect.ts";
export type { DatabaseFacts } from "./postgres/inspect.ts";

/** Advice for a pooler that lends a session for one transaction only. */
export const USE_SESSIONS =
  "use session mode for Orrery (PgBouncer: pool_mode = session), or connect to PostgreSQL directly";

/** Looks at a database without changing it. Loaded late, as the driver is wherever it is used. */
export async function inspectDatabase(url: string): Promise<DatabaseFacts> {
  return await (await import("./postgres/inspect.ts")).inspectDatabase(url);
}
