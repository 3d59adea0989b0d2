// What the threads of the benchmark run.

import { getEnvironmentData } from "node:worker_threads";
import { portable } from "../../dist/runtime/index.js";

/** @typedef {import("../../dist/runtime/index.js").Fiber} Fiber */
/**
 * @template T
 * @typedef {import("../../dist/runtime/index.js").Steps<T>} Steps
 */

const here = import.meta.url;

/** Work of a length that does not depend on anything. @param {number} iterations */
export function burn(iterations) {
  const times = iterations | 0;
  let x = times;
  for (let at = 0; at < times; at++) x = (Math.imul(x, 1_664_525) + 1_013_904_223) | 0;
  // Always 1, but only who has gone through it all knows: or the loop would be left out where nobody looks at the result.
  return x === 4_711 && times === 815 ? 2 : 1;
}

export const noop = portable(here, "noop", (/** @type {Fiber} */ _fiber, /** @type {number} */ x) => x);

/** What a tree of some depth needs, with room for who opens its nurseries. @param {number} depth @param {number} width */
export function budgetOf(depth, width) {
  return {
    ops: Math.ceil(400 * (width * 1.2) ** depth),
    memory: 0,
    spawnCount: Math.max(0, (width ** (depth + 1) - width) / (width - 1)),
    channelOps: 0,
    syscalls: 0,
  };
}

/** @public Threads import it by its name. */
export const leaf = portable(here, "leaf", (/** @type {Fiber} */ _fiber, /** @type {number} */ iterations) =>
  burn(iterations),
);

/** Forks so often and so widely, and joins. Gives the number of its leaves. */
export const tree = portable(
  here,
  "tree",
  /** @returns {Steps<number>} */
  function* (
    /** @type {Fiber} */ fiber,
    /** @type {number} */ depth,
    /** @type {number} */ width,
    /** @type {number} */ iterations,
  ) {
    // Not written in place: of a function* that is made anew each time the engine makes a class anew, which takes microseconds.
    return yield* fiber.nursery(undefined, undefined, (nursery) => forked(nursery, depth, width, iterations));
  },
);

/**
 * @param {import("../../dist/runtime/index.js").Nursery} nursery
 * @param {number} depth
 * @param {number} width
 * @param {number} iterations
 * @returns {Steps<number>}
 */
function* forked(nursery, depth, width, iterations) {
  const options = { budget: budgetOf(depth - 1, width) };
  const forks = [];
  for (let fork = 0; fork < width; fork++)
    forks.push(
      depth === 1
        ? nursery.spawn(leaf, [iterations])
        : nursery.spawn(tree, [depth - 1, width, iterations], options),
    );
  let leaves = 0;
  for (const fork of forks) leaves += yield* fork.join();
  return leaves;
}

/** Counts that it has run, in memory that all threads share. */
export const mark = portable(here, "mark", (/** @type {Fiber} */ _fiber, /** @type {number} */ at) =>
  Atomics.add(/** @type {Uint8Array} */ (getEnvironmentData("marks")), at, 1),
);

/** Sends so many numbers. */
export const sendAll = portable(
  here,
  "sendAll",
  /** @returns {Steps<void>} */
  function* (
    /** @type {Fiber} */ _fiber,
    /** @type {import("../../dist/runtime/index.js").Channel<number>} */ channel,
    /** @type {number} */ count,
  ) {
    for (let value = 0; value < count; value++) yield* channel.send(value);
  },
);
