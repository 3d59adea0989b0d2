import { expect, test } from "vitest";
import { aNode, Loop, submits } from "../../../tests/builders.ts";
import { MemoryStore } from "../../store/index.ts";
import type { Caller } from "../api.ts";
import { Feeder } from "./feeder.ts";
import { Past } from "./past.ts";
import type { PastError } from "./past-error.ts";

const caller: Caller = {
  keyId: "k",
  zone: "default",
  agent: "a",
  scopes: new Set(["operator", "admin"]),
  isZoneAdmin: true,
};

/** So many runs of so many nodes that nobody runs. */
async function filled(runs: number, nodes: number): Promise<MemoryStore> {
  const store = new MemoryStore();
  const loop = new Loop();
  const graph = Array.from({ length: nodes }, (_, node) => aNode(`node ${node}`));
  for (let run = 0; run < runs; run++) loop.turn(run, submits(`run ${run}`, graph));
  for (const block of loop.blocks) await store.commit(block);
  return store;
}

const driver = { read: () => Promise.reject(new Error("nobody asks of now")) };

test("a ledger that needs more memory than it may is too long, now and later, and nothing else ends", async () => {
  const store = await filled(60, 2_000);
  await using past = new Past({ driver, store, streamKey: Buffer.alloc(32, 7), heapMb: 24 });
  const ask = () => past.at(store.head.seq).overview(caller);
  await expect.poll(() => ask().catch((error) => error.code)).toBe("too-long");
  await expect(ask()).rejects.toThrow("longer than what is kept of it in memory");
});

test("a replay that breaks says so, and the next question begins anew", async () => {
  const store = await filled(2, 2);
  let isBroken = true;
  const broken = {
    head: store.head,
    backend: store.backend,
    task: store.task.bind(store),
    logs: store.logs.bind(store),
    async *blocks(...after: Parameters<MemoryStore["blocks"]>) {
      for await (const block of store.blocks(...after))
        yield isBroken ? { ...block, line: block.line.replace("RunSubmitted", "RunForgotten") } : block;
    },
  };
  await using past = new Past({ driver, store: broken, streamKey: Buffer.alloc(32, 7) });
  const ask = async () => {
    for (;;) {
      try {
        return await past.at(store.head.seq).overview(caller);
      } catch (error) {
        // A busy machine is slow, not wrong.
        if ((error as PastError).code !== "building") throw error;
      }
    }
  };
  await expect(ask()).rejects.toMatchObject({ code: "failed" });
  isBroken = false;
  expect((await ask()).zone).toBe("default");
});

test("what takes longer is told with how far it is, and goes on", async () => {
  const store = await filled(700, 1);
  let isSlow = true;
  const taken: number[] = [];
  const feeder = new Feeder(store, async (blocks) => {
    while (isSlow) await new Promise((resolve) => setTimeout(resolve, 1));
    taken.push(blocks.length);
  });
  expect(await feeder.reaches(store.head.seq, 5)).toBe(false);
  expect(feeder.seq).toBe(0);
  isSlow = false;
  expect(await feeder.reaches(store.head.seq, 10_000)).toBe(true);
  expect(Math.max(...taken)).toBeLessThanOrEqual(256);
  expect(taken.reduce((sum, count) => sum + count, 0)).toBe(701);
});
