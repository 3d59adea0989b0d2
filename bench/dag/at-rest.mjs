// Loaded before a worker: when it is asked, it lets go of all that nobody refers to, and says how much memory it has then.

import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";

/** What buffers held is given back by another thread, a moment after nobody refers to them any more. */
const SWEEP_MS = 200;

async function rest() {
  globalThis.gc?.();
  await sleep(SWEEP_MS);
  globalThis.gc?.();
  await sleep(SWEEP_MS);
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({ rss, used: heapUsed + external });
}

if (isMainThread) {
  process.on("message", () => void rest());
  // To listen keeps a process alive, which should end as if this were not here.
  process.channel?.unref();
}
