import { expect, test } from "vitest";
import { serve } from "../../../tests/http-app.ts";
import { sendGenerated } from "../../../tests/http-requests.ts";
import { testDatabase } from "../../../tests/postgres.ts";
import { MemoryStore, type ServiceStore } from "../../store/index.ts";
import { PostgresStore } from "../../store/postgres/store.ts";

const STORES: Readonly<Record<string, () => Promise<ServiceStore>>> = {
  memory: async () => new MemoryStore(),
  PostgreSQL: async () => PostgresStore.open(await testDatabase()),
};

// CONTRIBUTING.md says how to send more of them.
const isLong = process.env["FUZZ"] === "long";
const seed = Number(process.env["FUZZ_SEED"] ?? 4711);

test.each(Object.entries(STORES))(
  "on %s, generated requests, right and broken, get answers as documented and never a 5xx",
  async (_store, open) => {
    const log: string[] = [];
    const served = await serve(log, { store: await open() });
    const { faults, statuses } = await sendGenerated(served, { count: isLong ? 20_000 : 3_500, seed });
    await served.close();
    expect(faults.slice(0, 5)).toEqual([]);
    expect(log).toEqual([]);
    // A generator that only ever makes nonsense would prove little.
    for (const status of [200, 201, 400, 401, 404, 415, 422])
      expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(10);
  },
  isLong ? 1_800_000 : 300_000,
);
