import { expect, test } from "vitest";
import {
  boostTiers,
  classAt,
  classify,
  DEFAULT_QUEUE,
  type Entry,
  effectiveTier,
  isDeadlineNear,
  type PriorityClass,
  type QueueConfig,
  REQUEST_STATES,
  startTier,
  type Tier,
} from "./index.ts";

const MINUTE = 60_000;

function anEntry(options: Partial<Entry> = {}): Entry {
  return {
    id: "a",
    readyAt: 0,
    estimateMs: 1_000,
    tier: 2,
    class: 1,
    deadline: -1,
    seq: 1,
    standing: 0,
    weight: 0,
    node: 0,
    ...options,
  };
}

function tierAfter(waitMs: number, options: Partial<Entry>, config: Partial<QueueConfig> = {}): Tier {
  return effectiveTier(anEntry({ readyAt: 5_000, ...options }), 5_000 + waitMs, {
    ...DEFAULT_QUEUE,
    ...config,
  });
}

function classAfter(
  waitMs: number,
  options: Partial<Entry>,
  demoted: boolean,
  config: Partial<QueueConfig> = {},
): PriorityClass {
  return classAt(anEntry({ readyAt: 5_000, ...options }), 5_000 + waitMs, demoted, {
    ...DEFAULT_QUEUE,
    ...config,
  });
}

test("[Q-08] the tier says the class, and waiting for others lifts background to batch", () => {
  for (const state of REQUEST_STATES) {
    const background = state === "io_wait" ? 1 : 2;
    expect(([0, 1, 2, 3, 4] as const).map((tier) => classify(tier, state))).toEqual([
      0,
      0,
      1,
      background,
      background,
    ]);
  }
});

test("[Q-07] boost buys whole tiers at their price, two at most, and none above critical", () => {
  const bought = [0, 9_999, 10_000, 19_999, 20_000, 1_000_000].map((micros) =>
    boostTiers(micros, DEFAULT_QUEUE),
  );
  expect(bought).toEqual([0, 0, 1, 1, 2, 2]);
  expect(([0, 1, 2, 3, 4] as const).map((tier) => startTier(tier, 20_000, DEFAULT_QUEUE))).toEqual([
    0, 0, 0, 1, 2,
  ]);
});

test("[Q-07] a task rises by one tier each two minutes, and never above critical", () => {
  const waits = [
    0,
    2 * MINUTE - 1,
    2 * MINUTE,
    4 * MINUTE - 1,
    4 * MINUTE,
    6 * MINUTE,
    8 * MINUTE,
    60 * MINUTE,
  ];
  expect(waits.map((waitMs) => tierAfter(waitMs, { tier: 4 }))).toEqual([4, 4, 3, 3, 2, 1, 0, 0]);
  expect(waits.map((waitMs) => tierAfter(waitMs, { tier: 0 }))).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
});

test("[Q-13] ageing looks at the wait in steps of a minute", () => {
  const config = { ageEveryMs: 90_000 };
  const waits = [90_000, 2 * MINUTE - 1, 2 * MINUTE, 180_000];
  expect(waits.map((waitMs) => tierAfter(waitMs, { tier: 4 }, config))).toEqual([4, 4, 3, 2]);
});

test("[Q-07] beyond the maximal wait a task is at least high, which shows when it ages slowly", () => {
  const config = { ageEveryMs: 60 * MINUTE };
  const waits = [10 * MINUTE, 10 * MINUTE + 1, 59 * MINUTE, 180 * MINUTE, 240 * MINUTE];
  expect(waits.map((waitMs) => tierAfter(waitMs, { tier: 4 }, config))).toEqual([4, 1, 1, 1, 0]);
  expect(tierAfter(10 * MINUTE + 1, { tier: 0 }, config)).toBe(0);
});

test("[Q-20] a deadline is near when at most two estimates remain, and stays so", () => {
  const entry = anEntry({ deadline: 10_000, estimateMs: 1_500 });
  const near = [6_999, 7_000, 9_999, 10_000, 20_000].map((now) => isDeadlineNear(entry, now, DEFAULT_QUEUE));
  expect(near).toEqual([false, true, true, true, true]);
  expect(isDeadlineNear(anEntry(), 10 ** 12, DEFAULT_QUEUE)).toBe(false);
  expect(isDeadlineNear(anEntry({ deadline: 0 }), 0, DEFAULT_QUEUE)).toBe(true);
});

test("[Q-20] a near deadline lifts a task to high in classic order, to interactive in the other", () => {
  const near = { deadline: 5_000 + 2_000 };
  expect(([0, 1, 2, 3, 4] as const).map((tier) => tierAfter(0, { ...near, tier }))).toEqual([0, 1, 1, 1, 1]);
  expect(tierAfter(8 * MINUTE, { ...near, tier: 4 })).toBe(0);
  expect(([0, 1, 2] as const).map((of) => classAfter(0, { ...near, class: of }, true))).toEqual([0, 0, 0]);
  expect(classAfter(0, { deadline: 5_000 + 2_001, class: 2 }, false)).toBe(2);
});

test("[Q-13] background that waited more than fifteen minutes counts as batch", () => {
  const waits = [0, 15 * MINUTE, 15 * MINUTE + 1, 10 ** 9];
  expect(waits.map((waitMs) => classAfter(waitMs, { class: 2 }, false))).toEqual([2, 2, 1, 1]);
  expect(waits.map((waitMs) => classAfter(waitMs, { class: 1 }, false))).toEqual([1, 1, 1, 1]);
});

test("[Q-13] batch that waited longer than a time of its own counts as interactive, where that is set", () => {
  const config = { starveBatchMs: 20 * MINUTE };
  const waits = [20 * MINUTE, 20 * MINUTE + 1];
  expect(waits.map((waitMs) => classAfter(waitMs, { class: 1 }, false, config))).toEqual([1, 0]);
  expect(waits.map((waitMs) => classAfter(waitMs, { class: 2 }, false, config))).toEqual([1, 0]);
  // With a shorter time for batch, background still has to become batch first.
  const short = [15 * MINUTE, 15 * MINUTE + 1];
  const waited = short.map((waitMs) => classAfter(waitMs, { class: 2 }, false, { starveBatchMs: MINUTE }));
  expect(waited).toEqual([2, 0]);
});

test("[Q-08] an agent that cost too much has its interactive tasks counted as batch, and no others", () => {
  expect(([0, 1, 2] as const).map((of) => classAfter(0, { class: of }, true))).toEqual([1, 1, 2]);
  const config = { starveBatchMs: 20 * MINUTE };
  expect(classAfter(20 * MINUTE + 1, { class: 0 }, true, config)).toBe(0);
});
