import { expect, test } from "vitest";
import { simulate, simulateSeeds } from "../src/simulator/index.ts";

test("[P-18] 60 seeds hold every invariant", { timeout: 120_000 }, () => {
  const { seeds, failure, tally } = simulateSeeds(1, 60);
  expect(failure).toBeUndefined();
  expect(seeds).toBe(60);
  expect(tally.faults).toBeGreaterThan(1_000);
});

test("[P-01] a seed gives the same ledger every time", () => {
  const [first, second] = [simulate(7), simulate(7)];
  expect(first.lines.length).toBeGreaterThan(10);
  expect(second.lines).toEqual(first.lines);
});

test("[P-15] another seed gives another ledger", () => {
  expect(simulate(8).lines).not.toEqual(simulate(9).lines);
});
