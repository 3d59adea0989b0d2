import { expect, test } from "vitest";
import { dequeWords, SharedDeque } from "./shared-deque.ts";
import { VictimChoice } from "./victims.ts";

function deques(lengths: readonly number[]): SharedDeque[] {
  return lengths.map((length) => {
    const deque = new SharedDeque(new Int32Array(new SharedArrayBuffer(4 * dequeWords(16))), 0, 16);
    for (let item = 0; item < length; item++) deque.push(item);
    return deque;
  });
}

const chosen = (victims: VictimChoice, times: number): number[] =>
  Array.from({ length: times }, (_, at) => victims.choose(at % victims.attempts));

test.each([
  [2, 1],
  [4, 3],
  [5, 4],
  [256, 4],
])(
  "[R-10] [SCHED:7.2.1] [SCHED:7.4.1] of %i processors one looks at %i others before it rests",
  (processors, attempts) => {
    const all = deques(Array.from({ length: processors }, () => 0));
    expect(new VictimChoice(0, all, "random", 1).attempts).toBe(attempts);
  },
);

test("[R-10] [SCHED:7.3.1] [SCHED:7.3.2] random victims come from the seed, are never the thief, and leave nobody out", () => {
  const all = deques([0, 0, 0, 0, 0, 0]);
  const first = chosen(new VictimChoice(2, all, "random", 42), 300);
  expect(chosen(new VictimChoice(2, all, "random", 42), 300)).toEqual(first);
  expect(chosen(new VictimChoice(2, all, "random", 43), 300)).not.toEqual(first);
  expect(new Set(first)).toEqual(new Set([0, 1, 3, 4, 5]));
});

test("[R-10] [SCHED:7.3.1] others go around, or take the one with the longest deque", () => {
  const all = deques([3, 9, 1, 5]);
  expect(chosen(new VictimChoice(2, all, "round-robin", 1), 3)).toEqual([3, 0, 1]);
  expect(chosen(new VictimChoice(2, all, "least-loaded", 1), 3)).toEqual([1, 1, 1]);
  expect(chosen(new VictimChoice(1, all, "least-loaded", 1), 3)).toEqual([3, 3, 3]);
});
