import { expect, test } from "vitest";
import type { Assignment, Recharge } from "../protocol/index.ts";
import { Runtime, type Steps, sleep } from "../runtime/index.ts";
import { Metered } from "./metered.ts";

const MOST = 0xffff_ffff;

const PARTS = { ops: 0, memory: 0, spawn_count: 0, channel_ops: 0, syscalls: 0 };

function metered(budget: Partial<typeof PARTS>): Metered {
  const given = { ...PARTS, ...budget, on_exhausted: "wait" };
  return new Metered({ budget: given } as unknown as Assignment, () => undefined);
}

function recharged(recharges: number, amounts: Partial<typeof PARTS>): Recharge {
  return { recharges, amounts: { ...PARTS, ...amounts } } as unknown as Recharge;
}

function* nap(): Steps<string> {
  yield* sleep(20);
  return "slept";
}

test("[R-04] a task with as much as a task can have leaves the others of its worker theirs, and can be recharged", async () => {
  await using runtime = await Runtime.start({ processors: 1 });
  const { signal } = new AbortController();
  const all = { ops: MOST, memory: MOST, spawn_count: MOST, channel_ops: MOST, syscalls: MOST };
  const greedy = [metered(all), metered(all)];
  const ends = [...greedy, metered({ spawn_count: 5 })].map((one) => one.run(runtime, nap, signal));
  // Before it has begun, while it runs, and when it is over.
  for (const one of greedy) one.recharge(recharged(1, all));
  await runtime.nursery(undefined, undefined, function* () {
    yield* sleep(1);
  });
  for (const one of greedy) one.recharge(recharged(2, { ...all, spawn_count: 2 * MOST }));
  expect(await Promise.all(ends)).toEqual(["slept", "slept", "slept"]);
  for (const one of greedy) one.recharge(recharged(3, { ...all, ops: 3 * MOST }));
});
