import { expect, test } from "vitest";
import { heldBytes } from "../../../tests/heap.ts";
import { type Served, serve } from "../../../tests/http-app.ts";
import { Contract } from "../../../tests/http-document.ts";
import { Walks } from "../../../tests/http-walk.ts";
import { testDatabase } from "../../../tests/postgres.ts";
import { Random } from "../../simulator/random.ts";
import { MemoryStore, type ServiceStore } from "../../store/index.ts";
import { PostgresStore } from "../../store/postgres/store.ts";

const isLong = process.env["FUZZ"] === "long";
const seed = Number(process.env["FUZZ_SEED"] ?? 4711);
const SEQUENCES = isLong ? 5000 : 60;
/** What waits is gone through by some answers, and would make the walks ever slower. */
const SETTLE_EVERY = isLong ? 500 : 30;
/** Of events and placements: what is remembered is full long before it is first measured. */
const REMEMBERED = 500;
/** A key; and in memory a task with its share of a run, and a character of the ledger with its share of a block. */
const BYTES_PER = { key: 2000, task: 2000, char: 1.5 };
/** Compiled code and caches that are not full yet take up to 2 MiB; bodies of the requests would take more. */
const MAX_GROWTH_BYTES = 3 * 1024 * 1024;

const STORES: Readonly<Record<string, () => Promise<ServiceStore>>> = {
  memory: async () => new MemoryStore(),
  PostgreSQL: async () => PostgresStore.open(await testDatabase()),
};

/** What is kept for as long as the service lives, because somebody may ask for it. */
async function keptBytes({ keys, service }: Served, store: ServiceStore): Promise<number> {
  const ofKeys = BYTES_PER.key * keys.all().length;
  if (store.backend !== "memory") return ofKeys;
  let [chars, tasks] = [0, 0];
  for await (const { line } of store.blocks()) chars += line.length;
  for (const { completed, failed, cancelled } of service.driver.state.totals.values())
    tasks += completed + failed + cancelled;
  return ofKeys + BYTES_PER.task * tasks + BYTES_PER.char * chars;
}

test.each(Object.entries(STORES))(
  "on %s, random walks of two zones see nothing of each other, get answers as documented, and leave it idle",
  async (_name, open) => {
    const log: string[] = [];
    const store = await open();
    const served = await serve(log, { store, remembered: REMEMBERED });
    const walks = await Walks.begin(served, await Contract.of(served));
    const unexplained = async () => (await heldBytes()) - (await keptBytes(served, store));
    let warmBytes = 0;
    for (let number = 0; number < SEQUENCES; number++) {
      const name = `FUZZ_SEED=${seed}, walk ${number}`;
      await walks.walk(new Random(seed, `walk ${number}`), name);
      if ((number + 1) % SETTLE_EVERY !== 0) continue;
      expect(await walks.settle(), name).toEqual([]);
      if (warmBytes === 0 && number >= SEQUENCES / 2 - 1) warmBytes = await unexplained();
    }
    expect(await walks.settle()).toEqual([]);
    const growth = (await unexplained()) - warmBytes;
    await served.close();
    expect(walks.faults.slice(0, 5)).toEqual([]);
    expect(log.slice(0, 5)).toEqual([]);
    for (const status of [200, 201, 403, 404, 409, 422])
      expect(walks.statuses.get(status) ?? 0, String(status)).toBeGreaterThan(0);
    if (isLong) expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  },
  isLong ? 1_800_000 : 300_000,
);
