// What is in memory for good: what is left when everything that nobody holds was collected.

import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Twice: what the first time finalizes goes at the second. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  for (let time = 0; time < 2; time++) {
    await setImmediate();
    gc();
  }
}

/** Of objects and of buffers. */
export async function heldBytes(): Promise<number> {
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
