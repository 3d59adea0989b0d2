import fc from "fast-check";
import { expect, test } from "vitest";
import { Numbered } from "./index.ts";

test("it has what a map of the same numbers has, in the same order", () => {
  const anyMove = fc.tuple(fc.constantFrom("add", "add", "delete", "replace"), fc.nat());
  fc.assert(
    fc.property(
      fc.integer({ min: -500, max: 2 ** 40 }),
      fc.array(anyMove, { maxLength: 400 }),
      (first, moves) => {
        const numbered = new Numbered<{ n: number }>();
        const map = new Map<number, { n: number }>();
        let next = first;
        for (const [move, at] of moves) {
          const number = move === "add" ? next++ : first + (at % (next - first + 2));
          if (move === "delete") {
            expect(numbered.delete(number)).toBe(map.delete(number));
          } else if (move === "add" || map.has(number)) {
            const value = { n: at };
            numbered.set(number, value);
            map.set(number, value);
          }
          expect(numbered.size).toBe(map.size);
          expect(numbered.get(number)).toBe(map.get(number));
          expect(numbered.has(number)).toBe(map.has(number));
        }
        expect([...numbered.values()]).toEqual([...map.values()]);
      },
    ),
    { seed: 1, numRuns: 300 },
  );
});
