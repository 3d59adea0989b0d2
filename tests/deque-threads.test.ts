import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { dequeWords, SharedDeque } from "../src/runtime/threads/shared-deque.ts";

const ITEMS = 200_000;
const THIEVES = 2;
const CAPACITY = 64;

function shared(words: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * words));
}

test("[R-09] [SCHED:7.1.1] [SCHED:7.1.2] of what an owner pushes and pops while others steal, everything is taken once, with what was written before", async () => {
  const words = shared(dequeWords(CAPACITY));
  const marks = shared(ITEMS);
  const control = shared(4);
  // Written without atomics: that thieves read it too is up to the order that pushing and stealing keep.
  const notes = shared(ITEMS);
  const thieves = Array.from(
    { length: THIEVES },
    () =>
      new Worker(new URL("deque-thief.mjs", import.meta.url), {
        workerData: { words, notes, marks, control, capacity: CAPACITY },
      }),
  );
  const over = thieves.map((thief) => once(thief, "exit"));
  while (Atomics.load(control, 1) < THIEVES) await pause(5);

  const deque = new SharedDeque(words, 0, CAPACITY);
  let popped = 0;
  for (let item = 0; item < ITEMS; ) {
    notes[item] = ~item;
    const full = !deque.push(item);
    if (!full) item++;
    // By turns: nearly all is left to the thieves, or owner and thieves fight for the last one all the time.
    const fighting = (item >> 10) % 2 === 0;
    for (let pops = full ? CAPACITY / 2 : fighting ? 2 : item % 2; pops > 0; pops--) {
      const got = deque.pop();
      if (got < 0) break;
      Atomics.add(marks, got, 1);
      popped++;
    }
  }
  while (deque.size > 0) await pause(1);
  Atomics.store(control, 0, 1);
  await Promise.all(over);

  const wrong = marks.reduce((sum, times) => sum + (times === 1 ? 0 : 1), 0);
  const unread = Atomics.load(control, 3);
  expect({ wrong, unread, taken: popped + Atomics.load(control, 2) }).toEqual({
    wrong: 0,
    unread: 0,
    taken: ITEMS,
  });
});
