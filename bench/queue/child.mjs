// One measurement in a process of its own, with a fresh heap: reads its job from the first argument and sends the
// figures to who started it.

import { setTimeout as sleep } from "node:timers/promises";
import { endWhenTold } from "./apart.mjs";
import { Closers } from "./closers.mjs";
import { measure } from "./measures/index.mjs";

const CLOSE_WITHIN_MS = 10_000;

const closers = new Closers();
const told = endWhenTold(closers);
try {
  const job = /** @type {import("./measures/index.mjs").Job} */ (JSON.parse(process.argv[2] ?? ""));
  const figures = await measure(job, closers);
  // Nobody is measured any more: what does not close by itself is left behind.
  await Promise.race([closers.closeAll(), sleep(CLOSE_WITHIN_MS)]);
  process.send?.(figures, () => process.exit(0));
} catch (error) {
  // What is closed under a measurement makes it fail; that is no news.
  if (!told.isEnding) {
    process.stderr.write(`${/** @type {Error} */ (error).stack}\n`);
    await closers.closeAll();
    process.exit(1);
  }
}
