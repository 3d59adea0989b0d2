// Steals from a deque that its owner keeps filled, and says how long each steal took.

import { parentPort, workerData } from "node:worker_threads";
import { SharedDeque } from "../../dist/runtime/threads/shared-deque.js";

const { words, capacity, steals } = /** @type {{ words: Int32Array, capacity: number, steals: number }} */ (
  workerData
);
const deque = new SharedDeque(words, 0, capacity);
const tookNs = new Float64Array(steals);
parentPort?.postMessage("ready");
for (let stolen = 0; stolen < steals; ) {
  const beforeMs = performance.now();
  const item = deque.steal();
  const afterMs = performance.now();
  if (item >= 0) tookNs[stolen++] = (afterMs - beforeMs) * 1e6;
}
parentPort?.postMessage(tookNs);
