// Functions that threads run. Each thread finds the memory that the test shares with it in its environment.

import { getEnvironmentData, isMainThread, threadId } from "node:worker_threads";
import { portable, sleep } from "../dist/runtime/index.js";

/** @typedef {import("../dist/runtime/index.js").Fiber} Fiber */

const here = import.meta.url;

/** The memory that the test shares with all threads. */
const shared = () => /** @type {Int32Array} */ (getEnvironmentData("words"));

export const echo = portable(
  here,
  "echo",
  (/** @type {Fiber} */ _fiber, /** @type {unknown[]} */ ...values) => ({
    values,
    thread: threadId,
  }),
);

export const same = portable(
  here,
  "same",
  (/** @type {Fiber} */ _fiber, /** @type {unknown} */ value) => value,
);

export const marking = portable(here, "marking", (/** @type {Fiber} */ _fiber, /** @type {number} */ at) =>
  Atomics.add(shared(), at, 1),
);

export const count = portable(here, "count", (/** @type {Fiber} */ fiber, /** @type {number} */ times) => {
  for (let at = 0; at < times; at++) fiber.loop();
  return threadId;
});

/** Takes an iteration at a time, and yields when it is due. */
export const countOn = portable(
  here,
  "countOn",
  function* (/** @type {Fiber} */ fiber, /** @type {number} */ times) {
    for (let at = 0; at < times; at++) if (fiber.loop()) yield;
    return threadId;
  },
);

export const tree = portable(
  here,
  "tree",
  /** @returns {import("../dist/runtime/index.js").Steps<number>} */
  function* (/** @type {Fiber} */ fiber, /** @type {number} */ depth) {
    if (depth === 0) return 1;
    const budget = { ops: Math.ceil(200 * 2.4 ** depth), spawnCount: 2 ** depth - 2 };
    return yield* fiber.nursery(undefined, undefined, function* (nursery) {
      const left = nursery.spawn(tree, [depth - 1], { budget });
      const right = nursery.spawn(tree, [depth - 1], { budget });
      return (yield* left.join()) + (yield* right.join());
    });
  },
);

export const spawning = portable(here, "spawning", function* (/** @type {Fiber} */ fiber) {
  return yield* fiber.nursery(undefined, undefined, function* (nursery) {
    return yield* nursery.spawn(same, [threadId]).join();
  });
});

/** Says that it runs, then waits for long; says when its `finally` ran. */
export const lingering = portable(here, "lingering", function* () {
  try {
    Atomics.add(shared(), 0, 1);
    yield* sleep(600_000);
  } finally {
    yield* sleep(5);
    Atomics.add(shared(), 1, 1);
  }
  return threadId;
});

export const throwing = portable(
  here,
  "throwing",
  (/** @type {Fiber} */ _fiber, /** @type {string} */ message) => {
    throw Object.assign(new TypeError(message, { cause: new RangeError("too far") }), { code: "E_TOO_FAR" });
  },
);

export const failing = portable(
  here,
  "failing",
  function* (/** @type {Fiber} */ _fiber, /** @type {string} */ how) {
    Atomics.add(shared(), 0, 1);
    if (how === "exit") process.exit(3);
    if (how === "timer")
      setTimeout(() => {
        throw new Error("thrown by a timer");
      }, 1);
    if (how === "memory") for (const hog = []; ; ) hog.push(new Array(10_000).fill(hog.length));
    yield* sleep(600_000);
  },
);

export const giving = portable(here, "giving", () => () => "a function");

/** @type {import("../dist/runtime/index.js").FiberFunction<[], unknown>} */
export const unknown = portable(here, "isNotExported", () => 1);

/** Waits for word 1, then spawns. */
export const spawningLater = portable(here, "spawningLater", function* (/** @type {Fiber} */ fiber) {
  Atomics.add(shared(), 0, 1);
  while (Atomics.load(shared(), 1) === 0) yield* sleep(1);
  return yield* fiber.nursery(undefined, {}, function* (nursery) {
    return yield* nursery.spawn(same, [threadId]).join();
  });
});

/** Has a child that another thread runs, and ends its own. */
export const dyingParent = portable(here, "dyingParent", function* (/** @type {Fiber} */ fiber) {
  return yield* fiber.nursery(undefined, undefined, function* (nursery) {
    nursery.spawn(lingering, []);
    while (Atomics.load(shared(), 0) === 0);
    yield process.exit(4);
  });
});

export const markingMany = portable(
  here,
  "markingMany",
  function* (/** @type {Fiber} */ fiber, /** @type {number} */ from, /** @type {number} */ width) {
    return yield* fiber.nursery(undefined, undefined, function* (nursery) {
      const budget = { ops: 10 };
      for (let at = from; at < from + width; at++) nursery.spawn(marking, [at], { budget });
      yield;
    });
  },
);

/** Ends its thread, unless that is the main one. */
export const dying = portable(here, "dying", function* () {
  if (isMainThread) return;
  setTimeout(() => process.exit(5), 1);
  yield* sleep(600_000);
});
