import fc from "fast-check";
import { expect, test } from "vitest";
import { Heap } from "./index.ts";

test("a heap hands out what a sorted list would", () => {
  // undefined: pop.
  const anyMoves = fc.array(fc.option(fc.integer({ min: -20, max: 20 }), { nil: undefined, freq: 2 }), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(anyMoves, (moves) => {
      const heap = new Heap<number>((a, b) => a < b);
      const model: number[] = [];
      for (const move of moves) {
        if (move === undefined) {
          expect(heap.pop()).toBe(model.shift());
        } else {
          heap.push(move);
          model.push(move);
          model.sort((a, b) => a - b);
        }
        expect(heap.size).toBe(model.length);
        expect(heap.peek()).toBe(model[0]);
      }
    }),
    { seed: 1, numRuns: 400 },
  );
});

test("a heap keeps the order that it is given, also the reverse", () => {
  const heap = new Heap<string>((a, b) => a > b);
  for (const text of ["b", "a", "d", "c"]) heap.push(text);
  expect([heap.pop(), heap.pop(), heap.pop(), heap.pop(), heap.pop()]).toEqual([
    "d",
    "c",
    "b",
    "a",
    undefined,
  ]);
});
