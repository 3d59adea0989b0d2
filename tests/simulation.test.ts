import { describe, expect, test } from "vitest";
import { simulate, simulateSeeds } from "../src/simulator/index.ts";

/** Seeds that broke something once, kept so that it stays mended. */
const BROKE_ONCE: readonly (readonly [seed: number, what: string])[] = [
  [15, "a relieved worker was not offered what had been waiting for it"],
  [3, "the scheduler asked to be woken in the past, again and again"],
  [385, "a new worker was not noticed when a reserved task was tried first"],
];

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

describe("[P-18] what broke once holds:", () => {
  test.each(BROKE_ONCE)("seed %d (%s)", (seed) => {
    expect(simulate(seed).failure).toBeUndefined();
  });
});
