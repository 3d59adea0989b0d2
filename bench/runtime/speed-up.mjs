// A tree of fibers on simulated processors: how many times less virtual time it takes than on one.

import { Runtime } from "../../dist/runtime/index.js";

const PROCESSORS = [2, 8, 64, 256];

/** @param {number} depth */
export async function speedUps(depth) {
  const alone = await makespan(depth, 1);
  const results = [];
  for (const processors of PROCESSORS)
    results.push({ processors, speedUp: alone / (await makespan(depth, processors)) });
  return results;
}

/**
 * @param {number} depth
 * @param {number} processors
 */
async function makespan(depth, processors) {
  const rt = await Runtime.start({ deterministic: true, processors, seed: 1 });
  await rt.nursery({ ops: 1e12, memory: 1e9, spawnCount: 2 ** (depth + 1) }, undefined, function* (n) {
    const budget = { ops: opsFor(depth), spawnCount: 2 ** (depth + 1) - 2 };
    yield* n.spawn(tree, [depth], { budget }).join();
  });
  await rt.close();
  return rt.makespan ?? Number.NaN;
}

/** @param {number} depth */
function opsFor(depth) {
  return Math.ceil(1_000 * 2.1 ** depth);
}

/**
 * Leaves take 200 ops each.
 *
 * @param {import("../../dist/runtime/index.js").Fiber} fiber
 * @param {number} depth
 * @returns {import("../../dist/runtime/index.js").Steps<void>}
 */
function* tree(fiber, depth) {
  if (depth === 0) {
    for (let i = 0; i < 4; i++) if (fiber.loop(50)) yield;
    return;
  }
  yield* fiber.nursery(undefined, undefined, function* (n) {
    const budget = { ops: opsFor(depth - 1), spawnCount: 2 ** depth - 2 };
    const children = [1, 2].map(() => n.spawn(tree, [depth - 1], { budget }));
    for (const child of children) yield* child.join();
  });
}
