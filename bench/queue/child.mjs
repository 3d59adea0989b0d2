// One measurement in a process of its own, with a fresh heap: reads its job from the first argument, takes a step
// whenever it is told to, says when that is done, and the figures with the last one.

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { endWhenTold } from "./apart.mjs";
import { Closers } from "./closers.mjs";
import { measure } from "./measures/index.mjs";

/** @typedef {{ figures?: import("./figure.mjs").Figure[] }} Said */

const CLOSE_WITHIN_MS = 10_000;

/**
 * @param {Said} said
 * @param {() => void} then
 */
const say = (said, then = () => {}) => void process.send?.(said, then);

const closers = new Closers();
const told = endWhenTold(closers);
try {
  const job = /** @type {import("./measures/index.mjs").Job} */ (JSON.parse(process.argv[2] ?? ""));
  const steps = measure(job, closers);
  for (;;) {
    await once(process, "message");
    const { done, value } = await steps.next();
    if (!done) say({});
    else {
      // Nobody is measured any more: what does not close by itself is left behind.
      await Promise.race([closers.closeAll(), sleep(CLOSE_WITHIN_MS)]);
      say({ figures: value }, () => process.exit(0));
      break;
    }
  }
} catch (error) {
  // What is closed under a measurement makes it fail; that is no news.
  if (!told.isEnding) {
    process.stderr.write(`${/** @type {Error} */ (error).stack}\n`);
    await closers.closeAll();
    process.exit(1);
  }
}
