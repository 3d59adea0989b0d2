// Loaded before a program that we start: it does not outlive us, even when we are killed.

import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // It ends by itself when it has nothing left to do, as if this were not here.
  process.channel?.unref();
}
