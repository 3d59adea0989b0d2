// Functions that use channels on whatever thread runs them.

import { threadId } from "node:worker_threads";
import { portable, select, sleep } from "../dist/runtime/index.js";

/** @typedef {import("../dist/runtime/index.js").Fiber} Fiber */
/** @template T @typedef {import("../dist/runtime/index.js").Channel<T>} Channel */
/** @template T @typedef {import("../dist/runtime/index.js").Steps<T>} Steps */

const here = import.meta.url;

/** Sends whole numbers, and closes the channel if it is to. */
export const sendAll = portable(
  here,
  "sendAll",
  /** @returns {Steps<number>} */
  function* (
    /** @type {Fiber} */ _fiber,
    /** @type {{ to: Channel<number> }} */ { to },
    /** @type {number} */ from,
    /** @type {number} */ upTo,
    /** @type {boolean} */ closes,
  ) {
    for (let value = from; value < upTo; value++) yield* to.send(value);
    if (closes) to.close();
    return threadId;
  },
);

/** Receives until the channel is closed. */
export const receiveAll = portable(
  here,
  "receiveAll",
  /** @returns {Steps<number[]>} */
  function* (/** @type {Fiber} */ _fiber, /** @type {Channel<number>} */ from) {
    /** @type {number[]} */
    const all = [];
    try {
      for (;;) all.push(yield* from.recv());
    } catch (error) {
      if (/** @type {{ code: string }} */ (error).code !== "ChannelClosed") throw error;
    }
    return all;
  },
);

/** Receives one after it has told that it is about to. */
export const receiveOne = portable(
  here,
  "receiveOne",
  /** @returns {Steps<unknown>} */
  function* (
    /** @type {Fiber} */ _fiber,
    /** @type {Channel<number>} */ told,
    /** @type {Channel<unknown>} */ from,
  ) {
    yield* told.send(threadId);
    return yield* from.recv();
  },
);

export const sendOne = portable(
  here,
  "sendOne",
  /** @returns {Steps<void>} */
  function* (
    /** @type {Fiber} */ _fiber,
    /** @type {Channel<unknown>} */ to,
    /** @type {boolean} */ isFunction,
  ) {
    yield* to.send(isFunction ? () => 1 : { memory: new SharedArrayBuffer(8), text: "x".repeat(500) });
  },
);

/** Makes channels, and answers on one of them what comes on the other. */
export const serve = portable(
  here,
  "serve",
  /** @returns {Steps<number>} */
  function* (/** @type {Fiber} */ fiber, /** @type {Channel<unknown>} */ offers) {
    /** @type {Channel<number>} */
    const questions = fiber.channel({ capacity: 2, name: "questions" });
    /** @type {Channel<number>} */
    const answers = fiber.channel();
    // What it holds before it goes away goes along.
    yield* questions.send(-1);
    yield* offers.send({ lines: [questions, answers] });
    for (let served = 0; ; served++) {
      const question = yield* questions.recv();
      if (question === 0) return served;
      yield* answers.send(2 * question);
    }
  },
);

/** Takes from whichever of several channels has something, until all are closed or a time is over. */
export const selectAll = portable(
  here,
  "selectAll",
  /** @returns {Steps<[number, number][]>} */
  function* (
    /** @type {Fiber} */ fiber,
    /** @type {Channel<number>[]} */ channels,
    /** @type {number} */ times,
  ) {
    /** @type {Channel<number>} */
    const never = fiber.channel();
    /** @type {[number, number][]} */
    const taken = [];
    while (taken.length < times) {
      const { index, value } = yield* select([
        ...channels.map((channel) => channel.recv()),
        never.recv(),
        sleep(60_000),
      ]);
      taken.push([index, Number(value)]);
    }
    return taken;
  },
);

/** Both ends of a channel in one `select`: sends or receives, whichever goes. */
export const either = portable(
  here,
  "either",
  /** @returns {Steps<string>} */
  function* (
    /** @type {Fiber} */ _fiber,
    /** @type {Channel<number>} */ channel,
    /** @type {number} */ value,
    /** @type {number} */ ms,
  ) {
    const { index, value: got } = yield* select([channel.send(value), channel.recv(), sleep(ms)]);
    return index === 0 ? `sent ${value}` : index === 1 ? `got ${got}` : "late";
  },
);

/** Ends its thread while one of its fibers waits. */
export const dieWaiting = portable(
  here,
  "dieWaiting",
  /** @returns {Steps<unknown>} */
  function* (
    /** @type {Fiber} */ fiber,
    /** @type {Channel<number>} */ told,
    /** @type {Channel<unknown>} */ from,
  ) {
    yield* told.send(threadId);
    return yield* fiber.nursery(undefined, undefined, function* (nursery) {
      nursery.spawn(function* () {
        yield* from.recv();
      }, []);
      yield* sleep(20);
      process.exit(6);
    });
  },
);

/** Waits for a child that waits for a value. */
export const waitWithChild = portable(
  here,
  "waitWithChild",
  /** @returns {Steps<number>} */
  function* (/** @type {Fiber} */ fiber, /** @type {Channel<number>} */ channel) {
    return yield* fiber.nursery(undefined, undefined, function* (nursery) {
      const waiting = /** @returns {Steps<number>} */ function* () {
        return yield* channel.recv();
      };
      return yield* nursery.spawn(waiting, []).join();
    });
  },
);

/** Says that it runs, and lets nobody else run until it is told. */
export const spin = portable(here, "spin", (/** @type {Fiber} */ _fiber, /** @type {Int32Array} */ words) => {
  Atomics.store(words, 0, 1);
  while (Atomics.load(words, 0) === 1);
});

export const lengthOf = portable(
  here,
  "lengthOf",
  (/** @type {Fiber} */ _fiber, /** @type {{ text: string }} */ { text }) => ({ length: text.length }),
);

/** When it is told has a child that needs a letter, and holds its thread until it is told that another one has stolen that. */
export const parent = portable(
  here,
  "parent",
  /** @returns {Steps<void>} */
  function* (/** @type {Fiber} */ fiber, /** @type {Int32Array} */ words) {
    yield* fiber.nursery(undefined, undefined, function* (nursery) {
      Atomics.store(words, 0, 1);
      while (Atomics.load(words, 0) === 1);
      const child = nursery.spawn(lengthOf, [{ text: "x".repeat(1_000) }]);
      while (Atomics.load(words, 0) === 2);
      Atomics.store(words, 1, (yield* child.join()).length);
    });
  },
);
