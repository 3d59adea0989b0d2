import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { task } from "./handler.ts";
import { invoke } from "./invocation.ts";
import type { AttemptContext } from "./task-context.ts";

const MIB = 2 ** 20;
/** As threads load it: they cannot read TypeScript. */
const BUILT = new URL("../../dist/worker/large-garbage.js", import.meta.url).href;
const context = {} as AttemptContext;

/** The most bytes outside of V8's heap beyond those at first, before each of so many calls. */
async function mostBytes(calls: number, call: () => Promise<unknown>): Promise<number> {
  await call();
  const atFirst = getHeapStatistics().external_memory;
  let most = 0;
  for (let count = 0; count < calls; count++) {
    await call();
    await turn();
    most = Math.max(most, getHeapStatistics().external_memory - atFirst);
  }
  return most;
}

test("[D-11] large values that functions have made or were given do not pile up when nobody refers to them any more", async () => {
  const make = task(() => Buffer.alloc(MIB));
  const look = task(() => 0);
  const inputs = [{ kind: "bytes", bytes: Buffer.alloc(MIB) }] as const;
  expect(await mostBytes(200, () => invoke(make, { payload: {}, inputs: [] }, context))).toBeLessThan(
    12 * MIB,
  );
  expect(await mostBytes(200, () => invoke(look, { payload: {}, inputs }, context))).toBeLessThan(12 * MIB);
});

test("[D-11] what functions still refer to stays as it is", async () => {
  const kept: Buffer[] = [];
  const keep = task(() => {
    kept.push(Buffer.alloc(MIB, kept.length));
  });
  for (let count = 0; count < 40; count++) await invoke(keep, { payload: {}, inputs: [] }, context);
  expect(kept.every((bytes, at) => bytes[0] === at && bytes[MIB - 1] === at)).toBe(true);
  expect("gc" in globalThis).toBe(false);
});

test("[D-11] threads that look for large garbage at the same moment do not fail each other", async () => {
  const look = `
    const { Buffer } = require("node:buffer");
    (async () => {
      for (let count = 0; count < 400; count++) {
        const { collectLargeGarbage } = await import(${JSON.stringify(BUILT)} + "?" + count);
        Buffer.alloc(4 * ${MIB});
        collectLargeGarbage();
      }
    })();
  `;
  const threads = Array.from({ length: 4 }, () => new Worker(look, { eval: true }));
  const codes = await Promise.all(threads.map(async (thread) => (await once(thread, "exit"))[0]));
  expect(codes).toEqual([0, 0, 0, 0]);
});
