// A thread that steals from a shared deque and marks what it got, until it is told to stop.

import { workerData } from "node:worker_threads";
import { SharedDeque } from "../dist/runtime/threads/shared-deque.js";

const { words, notes, marks, control, capacity } =
  /** @type {{ words: Int32Array, notes: Int32Array, marks: Int32Array, control: Int32Array, capacity: number }} */ (
    workerData
  );
const deque = new SharedDeque(words, 0, capacity);
let stolen = 0;
let unread = 0;
Atomics.add(control, 1, 1);
while (Atomics.load(control, 0) === 0 || deque.size > 0) {
  const item = deque.steal();
  if (item < 0) continue;
  if (notes[item] !== ~item) unread++;
  Atomics.add(marks, item, 1);
  stolen++;
}
Atomics.add(control, 2, stolen);
Atomics.add(control, 3, unread);
