import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SharedPlans } from "./shared-plans.ts";

interface Plan {
  readonly number: number;
  readonly rows: readonly unknown[];
}

let made: number;
let now: number;
let plans: SharedPlans<Plan>;

beforeEach(() => {
  vi.useFakeTimers();
  made = 0;
  now = 0;
  plans = new SharedPlans(() => now);
});
afterEach(() => vi.useRealTimers());

/** Takes a second. */
async function ask(runId: string, nodes = 1): Promise<number> {
  const plan = await plans.of(runId, async () => {
    const number = ++made;
    await Promise.resolve();
    expect(number).toBe(made);
    now += 1_000;
    return { number, rows: Array(nodes).fill(null) };
  });
  return plan.number;
}

test("who asks for a plan that is being made gets that one, and one is made at a time", async () => {
  expect(await Promise.all([ask("r"), ask("r"), ask("s")])).toEqual([1, 1, 2]);
  expect(await ask("r")).toBe(3);
});

test("a plan of many nodes is told again for three times as long as it took", async () => {
  expect(await ask("r", 2_001)).toBe(1);
  vi.advanceTimersByTime(2_999);
  expect(await ask("r")).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await ask("r")).toBe(2);
});

test("a plan that failed is made again, and keeps no other from being made", async () => {
  const failed = plans.of("r", () => Promise.reject(new Error("no plan")));
  const other = ask("s");
  await expect(failed).rejects.toThrow("no plan");
  expect([await other, await ask("r")]).toEqual([1, 2]);
});
