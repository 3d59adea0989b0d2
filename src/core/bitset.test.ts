import fc from "fast-check";
import { expect, test } from "vitest";
import { bitsetOf, clearBit, countBits, hasBit, lowestBit, setBit, writeBit } from "./index.ts";

const BITS = 100;
const anyWord = fc.oneof(
  fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 }),
  fc.nat(31).map((bit) => 2 ** bit),
  fc.constantFrom(0, -1, 2 ** 32 - 1, -(2 ** 31), 2 ** 31),
);

test("a bitset holds what was set and not cleared, and no neighbour", () => {
  const anyWrites = fc.array(fc.tuple(fc.constantFrom("set", "clear", "on", "off"), fc.nat(BITS - 1)));
  fc.assert(
    fc.property(anyWrites, (writes) => {
      const words = bitsetOf(BITS);
      const model = new Set<number>();
      for (const [how, bit] of writes) {
        if (how === "set") setBit(words, bit);
        else if (how === "clear") clearBit(words, bit);
        else writeBit(words, bit, how === "on");
        if (how === "set" || how === "on") model.add(bit);
        else model.delete(bit);
      }
      const members = Array.from({ length: BITS }, (_, bit) => bit).filter((bit) => hasBit(words, bit));
      expect(members).toEqual([...model].sort((a, b) => a - b));
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("a bitset has a word for every 32 bits that were begun", () => {
  expect([0, 1, 31, 32, 33, 64, 65].map((bits) => bitsetOf(bits).length)).toEqual([0, 1, 1, 1, 2, 2, 3]);
});

test("bits are counted and the lowest is found, in signed words and in unsigned ones", () => {
  fc.assert(
    fc.property(anyWord, (word) => {
      const digits = (word >>> 0).toString(2);
      expect(countBits(word)).toBe(digits.replaceAll("0", "").length);
      if (word !== 0) expect(lowestBit(word)).toBe(digits.length - 1 - digits.lastIndexOf("1"));
    }),
    { seed: 1, numRuns: 1_000 },
  );
});
