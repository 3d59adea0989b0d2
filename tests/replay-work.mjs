// Functions that come to the same wherever they run.

import { portable, sleep } from "../dist/runtime/index.js";

/** @typedef {import("../dist/runtime/index.js").Fiber} Fiber */
/** @template T @typedef {import("../dist/runtime/index.js").Channel<T>} Channel */
/** @template T @typedef {import("../dist/runtime/index.js").Steps<T>} Steps */

const here = import.meta.url;

export const tree = portable(
  here,
  "tree",
  /** @returns {Steps<number>} */
  function* (/** @type {Fiber} */ fiber, /** @type {number} */ depth) {
    for (let at = 0; at < 50 * depth; at++) if (fiber.loop()) yield;
    if (depth === 0) return 1;
    const budget = { ops: Math.ceil(2_000 * 2.4 ** depth), spawnCount: 2 ** depth - 2 };
    return yield* fiber.nursery(undefined, undefined, function* (nursery) {
      const left = nursery.spawn(tree, [depth - 1], { budget });
      const right = nursery.spawn(tree, [depth - 1], { budget });
      return (yield* left.join()) + (yield* right.join());
    });
  },
);

export const dozing = portable(
  here,
  "dozing",
  /** @returns {Steps<number>} */
  function* (/** @type {Fiber} */ fiber, /** @type {number} */ ms) {
    yield* sleep(ms);
    const drawn = yield* fiber.random();
    return drawn + (yield* fiber.time());
  },
);

/** Sends what it computes, and fails at the end if it is to. */
export const producing = portable(
  here,
  "producing",
  /** @returns {Steps<{ sent: number }>} */
  function* (
    /** @type {Fiber} */ fiber,
    /** @type {{ to: Channel<{ at: number }> }} */ { to },
    /** @type {number} */ count,
    /** @type {boolean} */ fails,
  ) {
    for (let at = 0; at < count; at++) {
      for (let round = 0; round < 300; round++) if (fiber.loop()) yield;
      yield* to.send({ at });
    }
    if (fails) throw new RangeError("no more");
    return { sent: count };
  },
);

export const dying = portable(
  here,
  "dying",
  /** @returns {Steps<void>} */
  function* () {
    yield process.exit(7);
  },
);
