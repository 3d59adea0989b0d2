import fc from "fast-check";
import { expect, test } from "vitest";
import { dequeWords, EMPTY, SharedDeque } from "./shared-deque.ts";
import { SplitDeque } from "./split-deque.ts";

function aDeque(capacity: number, begun = 0): { owner: SharedDeque; thief: SharedDeque } {
  const words = new Int32Array(new SharedArrayBuffer(4 * (8 + dequeWords(capacity))));
  words[8] = words[8 + 16] = begun;
  return { owner: new SharedDeque(words, 8, capacity), thief: new SharedDeque(words, 8, capacity) };
}

const anyMoves = fc.array(fc.constantFrom("push", "push", "pop", "steal"), { maxLength: 200 });

test("[R-09] the owner takes the newest and thieves the oldest, also where the counts wrap around", () => {
  fc.assert(
    fc.property(anyMoves, fc.constantFrom(0, 0x7fff_fff0, -8), (moves, begun) => {
      const { owner, thief } = aDeque(16, begun);
      const model: number[] = [];
      for (const [at, move] of moves.entries()) {
        if (move === "push") {
          expect(owner.push(at)).toBe(model.length < 16);
          if (model.length < 16) model.push(at);
        } else if (move === "pop") expect(owner.pop()).toBe(model.pop() ?? EMPTY);
        else expect(thief.steal()).toBe(model.shift() ?? EMPTY);
        expect(owner.size).toBe(model.length);
      }
    }),
  );
});

test("a deque made anew over the same memory goes on where the former owner was", () => {
  const words = new Int32Array(new SharedArrayBuffer(4 * dequeWords(8)));
  const before = new SharedDeque(words, 0, 8);
  before.push(1);
  before.push(2);
  before.steal();
  const after = new SharedDeque(words, 0, 8);
  after.push(3);
  expect([after.pop(), after.pop(), after.pop()]).toEqual([3, 2, EMPTY]);
});

test("[R-09] what does not fit into the shared part is kept, in the same order", () => {
  fc.assert(
    fc.property(anyMoves, fc.integer({ min: 1, max: 8 }), (moves, shown) => {
      const { owner, thief } = aDeque(8);
      const laid = new Map<number, number>();
      const deque = new SplitDeque(
        owner,
        {
          isPortable: () => true,
          lay: (slot) => {
            laid.set(slot + 1_000, slot);
            return slot + 1_000;
          },
          unlay: (item) => laid.get(item) ?? EMPTY,
        },
        shown,
      );
      const model: number[] = [];
      for (const [at, move] of moves.entries()) {
        if (move === "push") {
          deque.push(at);
          model.push(at);
        } else if (move === "pop") expect(deque.pop()).toBe(model.pop() ?? EMPTY);
        else {
          deque.show();
          const stolen = thief.steal();
          expect(stolen === EMPTY ? EMPTY : stolen - 1_000).toBe(model.shift() ?? EMPTY);
        }
        expect(deque.size).toBe(model.length);
      }
    }),
  );
});

test("what cannot be run elsewhere is never shown, and is not starved by what can", () => {
  const { owner, thief } = aDeque(8);
  const deque = new SplitDeque(
    owner,
    { isPortable: (slot) => slot % 2 === 0, lay: (slot) => (slot === 4 ? -1 : slot), unlay: (item) => item },
    8,
  );
  for (let slot = 1; slot <= 6; slot++) deque.push(slot);
  expect([thief.steal(), thief.steal(), thief.steal()]).toEqual([2, 6, EMPTY]);
  expect([1, 2, 3, 4, 5].map(() => deque.pop())).toEqual([5, 4, 3, 1, EMPTY]);
});
