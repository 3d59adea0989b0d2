import { once } from "node:events";
import { setEnvironmentData, Worker } from "node:worker_threads";
import { Runtime } from "../../dist/runtime/index.js";
import { dequeWords, SharedDeque } from "../../dist/runtime/threads/shared-deque.js";
import { loadPackage } from "../queue/packages.mjs";
import { quantile } from "../stats.mjs";
import { longestMs, threadTimesMs } from "./thread-times.mjs";
import { budgetOf, burn, mark, noop, sendAll, tree } from "./work.mjs";

const PLENTY = { ops: 1e14, memory: 1e12, spawnCount: 4e9, channelOps: 1e9, syscalls: 1e9 };

/**
 * @template T
 * @param {import("../../dist/runtime/index.js").RuntimeOptions} options
 * @param {(rt: Runtime) => Promise<T>} use
 */
async function withRuntime(options, use) {
  const rt = await Runtime.start(options);
  try {
    return await use(rt);
  } finally {
    await rt.close();
  }
}

/** How long steals take, from an owner that pushes and pops all the time. @param {number} steals */
export async function stealing(steals) {
  const capacity = 256;
  const words = new Int32Array(new SharedArrayBuffer(4 * dequeWords(capacity)));
  const thief = new Worker(new URL("thief.mjs", import.meta.url), {
    workerData: { words, capacity, steals },
  });
  const gone = once(thief, "exit");
  await once(thief, "message");
  const deque = new SharedDeque(words, 0, capacity);
  /** @type {Float64Array | undefined} */
  let tookNs;
  thief.once("message", (message) => {
    tookNs = /** @type {Float64Array} */ (message);
  });
  while (tookNs === undefined) {
    for (let at = 0; at < 10_000; at++) {
      deque.push(at);
      if (at % 4 === 0) deque.pop();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await gone;
  const values = [...tookNs];
  return { p50Ns: quantile(values, 0.5), p99Ns: quantile(values, 0.99) };
}

/** Iterations that take so long. @param {number} us */
function iterationsFor(us) {
  let sum = burn(1e6);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 50; round++) {
    const beforeMs = performance.now();
    sum += burn(100_000);
    best = Math.min(best, (performance.now() - beforeMs) / 100_000);
  }
  return sum > 0 ? Math.round(us / 1_000 / best) : 0;
}

/** @typedef {{ depth: number, width: number, leafUs: number, runs: number }} ForkJoin */

/**
 * Fork-join on two processors beside the same leaves one after the other: of several short runs the best, by the clock and by
 * the longest time that one of the threads was on a core.
 *
 * @param {ForkJoin} size
 */
export function forkJoin(size) {
  return withRuntime({ processors: 2 }, (rt) => forkJoinOn(rt, size));
}

/** @param {Runtime} rt @param {ForkJoin} size */
async function forkJoinOn(rt, { depth, width, leafUs, runs }) {
  const leaves = width ** depth;
  const budget = budgetOf(depth, width);
  const run = (/** @type {number} */ iterations) =>
    rt.nursery(PLENTY, undefined, function* (nursery) {
      return yield* nursery.spawn(tree, [depth, width, iterations], { budget }).join();
    });
  const iterations = iterationsFor(leafUs);
  // Until all of it is compiled, on both threads.
  for (let warm = 0; warm < 100_000 / leaves; warm++) await run(1);
  const best = {
    aloneMs: Number.POSITIVE_INFINITY,
    aloneCoreMs: Number.POSITIVE_INFINITY,
    clockMs: Number.POSITIVE_INFINITY,
    coreMs: Number.POSITIVE_INFINITY,
  };
  for (let round = 0; round < runs; round++) {
    const aloneMs = performance.now();
    let times = threadTimesMs();
    let sum = 0;
    for (let at = 0; at < leaves; at++) sum += burn(iterations);
    if (sum !== leaves) throw new Error("a leaf is missing");
    best.aloneMs = Math.min(best.aloneMs, performance.now() - aloneMs);
    best.aloneCoreMs = Math.min(best.aloneCoreMs, longestMs(times));
    times = threadTimesMs();
    const beforeMs = performance.now();
    if ((await run(iterations)) !== leaves) throw new Error("a leaf is missing");
    best.clockMs = Math.min(best.clockMs, performance.now() - beforeMs);
    best.coreMs = Math.min(best.coreMs, longestMs(times));
  }
  return { byClock: best.aloneMs / best.clockMs, byCore: best.aloneCoreMs / best.coreMs };
}

/** Tasks that do nothing, spawned in one thread and joined there; the best of several runs. @param {number} tasks @param {number} runs */
export function noops(tasks, runs) {
  return withRuntime({ processors: 2 }, (rt) => noopsOn(rt, tasks, runs));
}

/** @param {Runtime} rt @param {number} tasks @param {number} runs */
async function noopsOn(rt, tasks, runs) {
  let best = 0;
  for (let round = 0; round < runs; round++) {
    const beforeMs = performance.now();
    const sum = await rt.nursery(PLENTY, undefined, function* (nursery) {
      let total = 0;
      for (let batch = 0; batch < tasks / 1_000; batch++) {
        const handles = [];
        for (let at = 0; at < 1_000; at++) handles.push(nursery.spawn(noop, [at]));
        for (const handle of handles) total += yield* handle.join();
      }
      return total;
    });
    if (sum !== (tasks / 1_000) * 499_500) throw new Error("a task is missing");
    best = Math.max(best, (tasks / (performance.now() - beforeMs)) * 1_000);
  }
  return best;
}

/** Numbers a second that one fiber sends to one of another thread; the best of several runs. @param {number} count @param {number} runs */
export function channelling(count, runs) {
  return withRuntime({ processors: 2 }, async (rt) => {
    let best = 0;
    for (let round = 0; round < runs; round++) {
      const channel = /** @type {import("../../dist/runtime/index.js").Channel<number>} */ (rt.channel(256));
      const beforeMs = performance.now();
      await rt.nursery(PLENTY, undefined, function* (nursery) {
        const { steals } = rt.counters();
        nursery.spawn(sendAll, [channel, count], { budget: { ops: 1e9, channelOps: count } });
        while (rt.counters().steals === steals);
        for (let value = 0; value < count; value++)
          if ((yield* channel.recv()) !== value) throw new Error(`${value} is missing`);
      });
      best = Math.max(best, (count / (performance.now() - beforeMs)) * 1_000);
    }
    return best;
  });
}

/**
 * What is used of the package, which is not there when the benchmarks are checked.
 *
 * @typedef {object} PiscinaPackage
 * @property {new (options: object) => { run(task: number, options: { name: string }): Promise<unknown>, destroy(): Promise<void> }} Piscina
 */

/** The same by Piscina, as many in flight as there it is fastest with. @param {number} tasks @param {number} runs */
export async function piscinaNoops(tasks, runs) {
  const { Piscina } = /** @type {PiscinaPackage} */ (await loadPackage("piscina"));
  const pool = new Piscina({
    filename: new URL("piscina-task.mjs", import.meta.url).href,
    minThreads: 2,
    maxThreads: 2,
    concurrentTasksPerWorker: 4,
  });
  let best = 0;
  try {
    for (let round = 0; round < runs; round++) {
      const beforeMs = performance.now();
      for (let batch = 0; batch < tasks / 1_000; batch++)
        await Promise.all(
          Array.from(
            { length: 1_000 },
            (_, at) => /** @type {Promise<number>} */ (pool.run(at, { name: "noop" })),
          ),
        );
      best = Math.max(best, (tasks / (performance.now() - beforeMs)) * 1_000);
    }
  } finally {
    await pool.destroy();
  }
  return best;
}

/** A tree over many threads, until each has run some of it. @param {number} processors */
export function many(processors) {
  const startMs = performance.now();
  return withRuntime({ processors, threadHeapMb: 64 }, (rt) => manyOn(rt, startMs));
}

/** @param {Runtime} rt @param {number} startMs */
async function manyOn(rt, startMs) {
  const startedMs = performance.now();
  const [depth, width] = [6, 4];
  const iterations = iterationsFor(50);
  const budget = budgetOf(depth, width);
  let trees = 0;
  const idle = () => rt.processors.filter(({ started }, me) => me > 0 && started === 0).length;
  while (trees === 0 || (idle() > 0 && trees < 200)) {
    const leaves = await rt.nursery(PLENTY, undefined, function* (nursery) {
      return yield* nursery.spawn(tree, [depth, width, iterations], { budget }).join();
    });
    if (leaves !== width ** depth) throw new Error("a leaf is missing");
    trees++;
  }
  const ranMs = performance.now() - startedMs;
  return { startMs: startedMs - startMs, ranMs, trees, idle: idle(), leaves: trees * width ** depth };
}

const ROUND = 100_000;

/** Rounds of tasks until so many were stolen, and how many of all ran not at all, or more than once. @param {number} wanted */
export function exactlyOnce(wanted) {
  const marks = new Uint8Array(new SharedArrayBuffer(ROUND));
  setEnvironmentData("marks", marks);
  return withRuntime({ processors: 4 }, async (rt) => {
    const stolen = () => rt.processors.reduce((sum, { steals }) => sum + steals, 0);
    let [spawned, wrong] = [0, 0];
    while (stolen() < wanted && wrong === 0) {
      await rt.nursery(PLENTY, undefined, (nursery) => markAll(nursery, stolen));
      spawned += ROUND;
      for (const times of marks) if (times !== 1) wrong++;
      marks.fill(0);
    }
    return { spawned, stolen: stolen(), wrong };
  });
}

/** @param {import("../../dist/runtime/index.js").Nursery} nursery @param {() => number} stolen */
function* markAll(nursery, stolen) {
  for (let at = 0; at < ROUND; at++) {
    nursery.spawn(mark, [at]);
    if (at % 16 !== 15) continue;
    // The owner gives the thieves time, or it would run nearly all of it itself.
    const enough = stolen() + 12;
    for (const untilMs = performance.now() + 0.02; stolen() < enough && performance.now() < untilMs; );
    if (at % 512 === 511) yield;
  }
}
