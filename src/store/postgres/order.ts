import type { ClientBase } from "pg";
import { sql } from "./sql.ts";

/**
 * The order of the queue in SQL. The scheduler orders what waits in memory; this says the same in another language,
 * exactly, and is what its order is held against. `claimByHrrn` does so without reading all that waits, for several
 * claimers at once.
 */

/** What classic order depends on. */
export interface ClassicConstants {
  readonly boostTierMicros: number;
  readonly maxBoostTiers: number;
  readonly ageStepMs: number;
  readonly ageEveryMs: number;
  readonly maxWaitMs: number;
}

/** The ids of the first that should start, by response ratio. */
export async function nextByHrrn(client: ClientBase, now: number, limit: number): Promise<string[]> {
  return idsOf(client, "next-by-hrrn", [now, limit]);
}

/** The ids of the first that should start, by tiers that age. */
export async function nextByClassic(
  client: ClientBase,
  now: number,
  limit: number,
  { boostTierMicros, maxBoostTiers, ageStepMs, ageEveryMs, maxWaitMs }: ClassicConstants,
): Promise<string[]> {
  const constants = [boostTierMicros, maxBoostTiers, ageStepMs, ageEveryMs, maxWaitMs];
  return idsOf(client, "next-by-classic", [now, limit, ...constants]);
}

/** What `claimByHrrn` needs so that it reads a few rows only. Submissions are slower by it, so it is not always there. */
export async function indexWaiting(client: ClientBase): Promise<void> {
  await client.query(sql("index-waiting").text);
}

/** Claims the first ones that nobody else is claiming, best first; fewer only when no more wait. */
export async function claimByHrrn(
  client: ClientBase,
  now: number,
  count: number,
  worker: string,
): Promise<string[]> {
  const claimed: string[] = [];
  for (let window = count; claimed.length < count; window *= 2) {
    const wanted = count - claimed.length;
    const { rows } = await client.query<{ ids: string[]; seen: number | string; late: number | string }>({
      ...sql("claim-by-hrrn"),
      values: [now, wanted, window, worker],
    });
    const [{ ids, seen, late } = { ids: [], seen: 0, late: 0 }] = rows;
    claimed.push(...ids);
    // Others are claiming what is missing, or did before its turn came. There is more behind it, unless all that waits was seen.
    if (Number(seen) < window && Number(late) === 0) break;
  }
  return claimed;
}

async function idsOf(client: ClientBase, name: string, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>({ ...sql(name), values: [...values] });
  return rows.map(({ id }) => id);
}
