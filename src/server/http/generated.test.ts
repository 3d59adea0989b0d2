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

test.each(Object.entries(STORES))(
  "on %s, 5,000 generated requests, right and broken, get answers as documented and never a 5xx",
  async (_store, open) => {
    const log: string[] = [];
    const served = await serve(log, { store: await open() });
    const { faults, statuses } = await sendGenerated(served, { count: 5000, seed: 4711 });
    await served.close();
    expect(faults.slice(0, 5)).toEqual([]);
    expect(log).toEqual([]);
    // A generator that only ever makes nonsense would prove little.
    for (const status of [200, 201, 400, 401, 404, 415, 422])
      expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(20);
  },
);
