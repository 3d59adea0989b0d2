import fc from "fast-check";
import { expect, test } from "vitest";
import { CLOSED, KEPT_ELSEWHERE, makeRing, NOTHING_THERE, PUSHED_IT, SharedRing } from "./shared-ring.ts";

const large = { text: "too large for a cell" };

test("[R-12] a ring that two threads see is a queue of so many values, of any kind", () => {
  const value = fc.oneof(fc.integer(), fc.double(), fc.string({ maxLength: 40 }), fc.constant(undefined));
  const action = fc.oneof(fc.record({ push: value }), fc.constant("pop" as const));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.array(action, { maxLength: 200 }), (capacity, actions) => {
      const words = makeRing(capacity) as Int32Array;
      const ends = [new SharedRing(words, capacity, true), new SharedRing(words, capacity, false)];
      const model: unknown[] = [];
      for (const [at, one] of actions.entries()) {
        const end = ends[at % 2] as SharedRing;
        if (one === "pop") expect(end.pop()).toEqual(model.length > 0 ? model.shift() : NOTHING_THERE);
        else if (end.push(one.push) === PUSHED_IT) model.push(one.push);
        else expect(model).toHaveLength(capacity);
        expect([end.size, end.hasValue, end.hasRoom]).toEqual([
          model.length,
          model.length > 0,
          model.length < capacity,
        ]);
      }
    }),
  );
});

test("what is too large for a ring is pushed and popped by the main thread only, in its place", () => {
  const words = makeRing(4) as Int32Array;
  const [main, other] = [new SharedRing(words, 4, true), new SharedRing(words, 4, false)];
  expect(other.push(large)).not.toBe(PUSHED_IT);
  expect([main.push(large), other.push(1)]).toEqual([PUSHED_IT, PUSHED_IT]);
  expect(other.pop()).toBe(KEPT_ELSEWHERE);
  expect([main.pop(), other.pop(), main.pop()]).toEqual([large, 1, NOTHING_THERE]);
});

test("into a ring that is closed nothing is pushed, and what is in it can be popped", () => {
  const ring = new SharedRing(makeRing(2) as Int32Array, 2, true);
  ring.push("before");
  ring.close();
  expect([ring.push("after"), ring.isClosed, ring.pop(), ring.pop()]).toEqual([
    CLOSED,
    true,
    "before",
    NOTHING_THERE,
  ]);
});

test("channels that hold nothing, or very much, have no ring", () => {
  expect([makeRing(0), makeRing(1e9)]).toEqual([undefined, undefined]);
});
