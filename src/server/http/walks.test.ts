import { expect, test } from "vitest";
import { heldBytes } from "../../../tests/heap.ts";
import { serve } from "../../../tests/http-app.ts";
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
/** Some of it is compiled code; a leak of a kilobyte per request would be more. */
const MAX_GROWTH_BYTES = 24 * 1024 * 1024;

const STORES: Readonly<Record<string, () => Promise<ServiceStore>>> = {
  memory: async () => new MemoryStore(),
  PostgreSQL: async () => PostgresStore.open(await testDatabase()),
};

test.each(Object.entries(STORES))(
  "on %s, random walks of two zones see nothing of each other, get answers as documented, and leave it idle",
  async (store, open) => {
    const log: string[] = [];
    const served = await serve(log, { store: await open() });
    const walks = await Walks.begin(served, await Contract.of(served));
    let warmBytes = 0;
    for (let number = 0; number < SEQUENCES; number++) {
      const name = `FUZZ_SEED=${seed}, walk ${number}`;
      await walks.walk(new Random(seed, `walk ${number}`), name);
      if ((number + 1) % SETTLE_EVERY !== 0) continue;
      expect(await walks.settle(), name).toEqual([]);
      // What is kept of the latest is full by then.
      if (warmBytes === 0 && number >= SEQUENCES / 2 - 1) warmBytes = await heldBytes();
    }
    expect(await walks.settle()).toEqual([]);
    const growth = (await heldBytes()) - warmBytes;
    await served.close();
    expect(walks.faults.slice(0, 5)).toEqual([]);
    expect(log.slice(0, 5)).toEqual([]);
    for (const status of [200, 201, 403, 404, 409, 422])
      expect(walks.statuses.get(status) ?? 0, String(status)).toBeGreaterThan(0);
    // What memory keeps, it keeps.
    if (store !== "memory") expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  },
  isLong ? 1_800_000 : 300_000,
);
