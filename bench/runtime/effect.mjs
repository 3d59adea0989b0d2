// Effect's fibers. Its package is not there when the benchmarks are checked, so what is used of it is written down here.

import { loadPackage } from "../queue/packages.mjs";
import { AT_ONCE, cpuNs } from "./subjects.mjs";

/** @typedef {Iterable<unknown, unknown, unknown>} Op */

/**
 * @typedef {object} Package
 * @property {object} Effect
 * @property {(body: () => Generator<unknown, unknown, unknown>) => Op} Effect.gen
 * @property {(ops: readonly Op[], options: { concurrency: "unbounded", discard: true }) => Op} Effect.all
 * @property {(op: Op) => Promise<unknown>} Effect.runPromise
 * @property {(op: Op) => Op} Effect.forkChild
 * @property {Op} Effect.yieldNow
 * @property {Op} Effect.void
 * @property {{ join(fiber: unknown): Op }} Fiber
 */

/**
 * Effect's fibers, as its documentation has them: forked into the scope of who forks them, and joined.
 *
 * @returns {Promise<import("./subjects.mjs").Subject>}
 */
export async function effect() {
  const { Effect, Fiber } = /** @type {Package} */ (await loadPackage("effect"));
  return {
    name: "effect",
    async switchNs({ fibers, switches }) {
      const each = Math.ceil(switches / fibers);
      const yielding = Effect.gen(function* () {
        for (let i = 0; i < each; i++) yield* Effect.yieldNow;
      });
      const started = cpuNs();
      await Effect.runPromise(
        Effect.all(
          Array.from({ length: fibers }, () => yielding),
          { concurrency: "unbounded", discard: true },
        ),
      );
      return (cpuNs() - started) / (fibers * each);
    },
    async spawnNs({ spawns }) {
      const started = cpuNs();
      await Effect.runPromise(
        Effect.gen(function* () {
          for (let done = 0; done < spawns; done += AT_ONCE) {
            const fibers = [];
            for (let i = 0; i < AT_ONCE; i++) fibers.push(yield* Effect.forkChild(Effect.void));
            for (const fiber of fibers) yield* Fiber.join(fiber);
          }
        }),
      );
      return (cpuNs() - started) / spawns;
    },
    async joinNs({ spawns }) {
      const started = cpuNs();
      await Effect.runPromise(
        Effect.gen(function* () {
          for (let i = 0; i < spawns; i++) yield* Fiber.join(yield* Effect.forkChild(Effect.void));
        }),
      );
      return (cpuNs() - started) / spawns;
    },
  };
}
