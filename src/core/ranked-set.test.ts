import fc from "fast-check";
import { expect, test } from "vitest";
import { InvariantError, RankedSet } from "./index.ts";

/** Around the borders of words and levels. */
const CAPACITIES = [1, 31, 32, 33, 64, 1_023, 1_024, 1_025, 33_000];

test("a ranked set holds what a plain set would, and knows its least member", () => {
  const anyCase = fc.constantFrom(...CAPACITIES).chain((capacity) => {
    const anyRank = fc.oneof(
      fc.nat(capacity - 1),
      fc.constantFrom(0, capacity - 1, Math.min(31, capacity - 1), Math.min(32, capacity - 1)),
    );
    return fc.tuple(fc.constant(capacity), fc.array(anyRank, { maxLength: 120 }));
  });
  fc.assert(
    fc.property(anyCase, ([capacity, ranks]) => {
      const set = new RankedSet(capacity);
      const model = new Set<number>();
      for (const rank of ranks) {
        if (model.delete(rank)) set.delete(rank);
        else {
          model.add(rank);
          set.add(rank);
        }
        const least = model.size === 0 ? -1 : Math.min(...model);
        expect([set.size, set.has(rank), set.first()]).toEqual([model.size, model.has(rank), least]);
      }
      for (const rank of ranks) expect(set.has(rank)).toBe(model.has(rank));
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("emptied from its least member on, a ranked set gives its members in order", () => {
  const set = new RankedSet(40_000);
  const members = Array.from({ length: 2_000 }, (_, at) => (at * 7_919) % 40_000);
  for (const member of members) set.add(member);
  const taken: number[] = [];
  for (let rank = set.first(); rank >= 0; rank = set.first()) {
    taken.push(rank);
    set.delete(rank);
  }
  expect(taken).toEqual(members.toSorted((a, b) => a - b));
});

test("adding what is there and deleting what is not are bugs that are noticed", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(70), { minLength: 1 }), fc.nat(70), (members, rank) => {
      const set = new RankedSet(71);
      for (const member of members) set.add(member);
      if (members.includes(rank)) expect(() => set.add(rank)).toThrow(InvariantError);
      else expect(() => set.delete(rank)).toThrow(InvariantError);
      expect(set.size).toBe(members.length);
    }),
    { seed: 1, numRuns: 1_000 },
  );
});
