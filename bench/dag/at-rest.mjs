// Loaded before a worker: when it is asked, it lets go of all that nobody refers to, and says how much memory it has then.

import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.on("message", () => {
    globalThis.gc?.();
    const { rss, heapUsed, external } = process.memoryUsage();
    process.send?.({ rss, used: heapUsed + external });
  });
  // To listen keeps a process alive, which should end as if this were not here.
  process.channel?.unref();
}
