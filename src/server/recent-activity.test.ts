import { expect, test } from "vitest";
import { RecentActivity } from "./recent-activity.ts";

test("rates are over the last ten whole seconds", () => {
  let now = 5_000;
  const recent = new RecentActivity(() => now);
  for (; now < 25_000; now += 100) {
    recent.tick();
    recent.note("a", "submitted");
  }
  expect(recent.of("a")).toMatchObject({ submittedPerSecond: 10, startedPerSecond: 0 });
  now += 5_000;
  expect(recent.of("a").submittedPerSecond).toBe(5);
  now += 3_600_000;
  expect(recent.of("a").submittedPerSecond).toBe(0);
  expect(recent.of("b").submittedPerSecond).toBe(0);
});

test("the seconds of the last minute are told, oldest first", () => {
  let now = 100_000;
  const recent = new RecentActivity(() => now);
  recent.note("a", "ended", 3);
  now += 2_000;
  const { ended, started } = recent.of("a").lastMinute;
  expect([ended.length, ended.slice(-2), started.at(-1)]).toEqual([60, [3, 0], 0]);
  now += 60_000;
  expect(recent.of("a").lastMinute.ended).toEqual(new Array(60).fill(0));
});

test("waits are those of the last minute, by zone", () => {
  let now = 0;
  const recent = new RecentActivity(() => now);
  expect(recent.of("a").waitMs).toBeUndefined();
  for (let wait = 1; wait <= 100; wait++) recent.waited("a", wait);
  expect(recent.of("a").waitMs).toEqual({ p50: 50, p95: 95, p99: 99 });
  expect(recent.of("b").waitMs).toBeUndefined();
  now += 40_000;
  recent.tick();
  recent.waited("a", 7);
  now += 30_000;
  expect(recent.of("a").waitMs).toEqual({ p50: 7, p95: 7, p99: 7 });
});

test("any number of zones and values takes bounded room; the newest are kept", () => {
  const recent = new RecentActivity(() => 0);
  for (let zone = 0; zone < 1_000; zone++) recent.note(`z${zone}`, "ended", 10);
  recent.waited("z0", 5);
  for (let at = 0; at < 10_000; at++) recent.committed(at < 9_000 ? 1 : 3);
  expect(recent.commitMs()).toEqual({ p50: 3, p95: 3, p99: 3 });
  expect(recent.of("z0").waitMs).toEqual({ p50: 5, p95: 5, p99: 5 });
});
