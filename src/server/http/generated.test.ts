import { expect, test } from "vitest";
import { serve } from "../../../tests/http-app.ts";
import { sendGenerated } from "../../../tests/http-requests.ts";

test("5,000 generated requests, right and broken, get answers as documented and never a 5xx", async () => {
  const log: string[] = [];
  const served = await serve(log);
  const { faults, statuses } = await sendGenerated(served, { count: 5000, seed: 4711 });
  await served.close();
  expect(faults.slice(0, 5)).toEqual([]);
  expect(log).toEqual([]);
  // A generator that only ever makes nonsense would prove little.
  for (const status of [200, 201, 400, 401, 404, 415, 422])
    expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(20);
});
