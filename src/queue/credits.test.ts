import { expect, test } from "vitest";
import { Credits } from "./index.ts";

test("[Q-07] a boost is reserved, and then charged or released", () => {
  const credits = new Credits();
  credits.grant("a", 50_000);
  credits.reserve("a", 20_000);
  credits.reserve("a", 20_000);
  expect([credits.available("a"), credits.reserved("a"), credits.balance("a")]).toEqual([
    10_000, 40_000, 50_000,
  ]);
  credits.charge("a", 20_000);
  expect([credits.available("a"), credits.reserved("a"), credits.balance("a")]).toEqual([
    10_000, 20_000, 30_000,
  ]);
  credits.release("a", 20_000);
  expect([credits.available("a"), credits.reserved("a"), credits.balance("a")]).toEqual([30_000, 0, 30_000]);
});

test("[Q-07] nobody reserves more than is left, and others have nothing to do with it", () => {
  const credits = new Credits();
  credits.grant("a", 20_000);
  credits.reserve("a", 15_000);
  expect([credits.canReserve("a", 5_000), credits.canReserve("a", 5_001)]).toEqual([true, false]);
  expect([credits.canReserve("b", 0), credits.canReserve("b", 1)]).toEqual([true, false]);
  expect(() => credits.reserve("a", 5_001)).toThrow("is available");
  expect(() => credits.charge("a", 15_001)).toThrow("was reserved");
  expect(() => credits.release("a", 15_001)).toThrow("was reserved");
  expect(() => credits.grant("a", -1)).toThrow("an amount");
});

test("[Q-07] a snapshot holds the accounts by key, and none that are empty", () => {
  const credits = new Credits();
  credits.grant("b", 10_000);
  credits.grant("a", 30_000);
  credits.grant("c", 10_000);
  credits.reserve("a", 10_000);
  credits.reserve("c", 10_000);
  credits.charge("c", 10_000);
  const snapshot = credits.toSnapshot();
  expect(snapshot).toEqual({
    accounts: [
      ["a", 30_000, 10_000],
      ["b", 10_000, 0],
    ],
  });
  expect(Credits.restore(JSON.parse(JSON.stringify(snapshot))).toSnapshot()).toEqual(snapshot);
});
