// What is measured: the same three things in ours and in async functions; in Effect they are in effect.mjs. Each gives the
// nanoseconds of CPU time that one of them took.

import { Runtime } from "../../dist/runtime/index.js";

/** @typedef {{ fibers: number, switches: number, spawns: number }} Sizes */

/**
 * @typedef {object} Subject
 * @property {string} name
 * @property {(sizes: Sizes) => Promise<number>} switchNs Among `fibers` that all yield in turn.
 * @property {(sizes: Sizes) => Promise<number>} spawnNs Spawns, runs and joins, a thousand at a time.
 * @property {(sizes: Sizes) => Promise<number>} joinNs Spawns one, waits for it, and so on.
 */

const BUDGET = { ops: 1e12, memory: 1e12, spawnCount: 4e9, channelOps: 4e9, syscalls: 4e9 };
export const AT_ONCE = 1_000;

/** Budgets, capabilities and cancelling are on: there is no way to switch them off. */
export async function ours() {
  const rt = await Runtime.start();
  /** @type {Subject} */
  return {
    name: "orrery",
    switchNs: ({ fibers, switches }) => oursSwitching(rt, fibers, switches),
    spawnNs: ({ spawns }) =>
      rt.nursery(BUDGET, undefined, function* (_n, fiber) {
        const started = cpuNs();
        for (let done = 0; done < spawns; done += AT_ONCE)
          yield* fiber.nursery({ ops: 1e8, memory: 1e10, spawnCount: AT_ONCE }, undefined, function* (n) {
            for (let i = 0; i < AT_ONCE; i++) n.spawn(nothing, NONE);
            yield;
          });
        return (cpuNs() - started) / spawns;
      }),
    joinNs: ({ spawns }) =>
      rt.nursery(BUDGET, undefined, function* (n) {
        const started = cpuNs();
        for (let i = 0; i < spawns; i++) yield* n.spawn(nothing, NONE).join();
        return (cpuNs() - started) / spawns;
      }),
  };
}

/** @type {[]} */
const NONE = [];

function* nothing() {}

/**
 * @param {Runtime} rt
 * @param {number} fibers
 * @param {number} switches
 */
async function oursSwitching(rt, fibers, switches) {
  const each = Math.ceil(switches / fibers);
  let started = 0;
  await rt.nursery(BUDGET, undefined, function* (n) {
    for (let i = 0; i < fibers; i++) n.spawn(pausing, [each], { budget: { ops: each } });
    // All have started when the first round is over.
    for (let i = 0; i < 3; i++) yield;
    started = cpuNs();
  });
  return (cpuNs() - started) / (fibers * each);
}

/**
 * @param {import("../../dist/runtime/index.js").Fiber} fiber
 * @param {number} times
 */
function* pausing(fiber, times) {
  for (let i = 0; i < times; i++) yield* fiber.pause();
}

const SETTLED = Promise.resolve();

/** Async functions: no budgets, no capabilities, no cancelling, and whatever they spawn may be left behind. */
export function native() {
  /** @param {number} times */
  const waiting = async (times) => {
    for (let i = 0; i < times; i++) await SETTLED;
  };
  const empty = async () => undefined;
  /** @type {Subject} */
  return {
    name: "async functions",
    async switchNs({ fibers, switches }) {
      const each = Math.ceil(switches / fibers);
      const started = cpuNs();
      await Promise.all(Array.from({ length: fibers }, () => waiting(each)));
      return (cpuNs() - started) / (fibers * each);
    },
    async spawnNs({ spawns }) {
      const started = cpuNs();
      for (let done = 0; done < spawns; done += AT_ONCE)
        await Promise.all(Array.from({ length: AT_ONCE }, empty));
      return (cpuNs() - started) / spawns;
    },
    async joinNs({ spawns }) {
      const started = cpuNs();
      for (let i = 0; i < spawns; i++) await empty();
      return (cpuNs() - started) / spawns;
    },
  };
}

export function cpuNs() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1_000;
}
