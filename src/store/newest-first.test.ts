import fc from "fast-check";
import { expect, test } from "vitest";
import { NewestFirst, type Place, type Point } from "./newest-first.ts";

const anyPoint = fc.record({ seq: fc.nat(20), id: fc.constantFrom("a", "b", "c", "d") });
const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ add: anyPoint }) },
  { weight: 3, arbitrary: fc.record({ remove: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ look: anyPoint }) },
);

function nameOf({ seq, id }: Point): string {
  return `${String(seq).padStart(2, "0")} ${id}`;
}

test("whatever is added and removed, rows are walked in the order of their places", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
      const order = new NewestFirst<string>();
      const places = new Map<string, Place<string>>();
      for (const step of steps) {
        if ("add" in step) {
          const row = nameOf(step.add);
          if (places.has(row)) continue;
          const place = { ...step.add, row };
          places.set(row, place);
          order.add(place);
        } else if ("remove" in step) {
          const [row, place] = [...places][step.remove % places.size] ?? [];
          if (row === undefined || !place) continue;
          places.delete(row);
          order.remove(place);
          expect(place.row).toBeUndefined();
        } else {
          const rows = [...places.keys()].sort().reverse();
          const point = nameOf(step.look);
          expect([...order.olderThan(undefined)]).toEqual(rows);
          expect([...order.olderThan(step.look)]).toEqual(rows.filter((row) => row < point));
          expect([...order.newerThan(step.look)]).toEqual(rows.filter((row) => row > point));
        }
      }
    }),
  );
});
