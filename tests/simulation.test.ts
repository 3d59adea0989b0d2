import { expect, test } from "vitest";
import { simulate, simulateSeeds } from "../src/simulator/index.ts";

test("[P-18] 60 seeds hold every invariant", { timeout: 120_000 }, async () => {
  const { seeds, failure, tally } = await simulateSeeds(1, 60);
  expect(failure).toBeUndefined();
  expect(seeds).toBe(60);
  expect(tally.faults).toBeGreaterThan(1_000);
});

test("[P-01] a seed gives the same ledger every time", async () => {
  const [first, second] = [await simulate(7), await simulate(7)];
  expect(first.lines.length).toBeGreaterThan(10);
  expect(second.lines).toEqual(first.lines);
});

test("[P-15] another seed gives another ledger", async () => {
  expect((await simulate(8)).lines).not.toEqual((await simulate(9)).lines);
});
