import fc from "fast-check";
import { expect, test } from "vitest";
import { IndexHeap, InvariantError } from "./index.ts";

test("the first is the least, whatever was added, taken out or moved up, and whenever it is asked for", () => {
  const anyAct = fc.tuple(fc.constantFrom("add", "delete", "rise", "first"), fc.nat(15), fc.nat(30));
  fc.assert(
    fc.property(fc.array(anyAct, { maxLength: 80 }), (acts) => {
      const keys = Array.from({ length: 16 }, (_, item) => 40 + (item % 5));
      const before = (a: number, b: number) =>
        (keys[a] as number) - (keys[b] as number) < 0 || (keys[a] === keys[b] && a < b);
      const heap = new IndexHeap(before, new Int32Array(16).fill(-1));
      const held = new Set<number>();
      for (const [act, item, key] of acts) {
        if (act === "add" && !held.has(item)) {
          heap.add(item);
          held.add(item);
        } else if (act === "delete" && held.has(item)) {
          heap.delete(item);
          held.delete(item);
        } else if (act === "rise" && held.has(item) && key < (keys[item] as number)) {
          keys[item] = key;
          heap.rise(item);
        }
        expect(heap.size).toBe(held.size);
        if (act !== "first") continue;
        const [least = -1] = [...held].sort((a, b) => (before(a, b) ? -1 : 1));
        // Before or after others were asked for: either puts them in order.
        if (item % 2 === 0) expect(heap.first()).toBe(least);
        const leading: number[] = [];
        heap.forLeading(
          (one) => keys[one] === keys[least],
          (one) => leading.push(one),
        );
        const equals = [...held].filter((one) => keys[one] === keys[least]);
        expect(new Set(leading)).toEqual(new Set(equals));
        expect(heap.first()).toBe(least);
      }
    }),
    { seed: 1, numRuns: 2_000 },
  );
});

test("a number is there once", () => {
  const heap = new IndexHeap((a, b) => a < b, new Int32Array(3).fill(-1));
  heap.add(1);
  expect(() => heap.add(1)).toThrow(InvariantError);
  expect(() => heap.delete(2)).toThrow(InvariantError);
});
