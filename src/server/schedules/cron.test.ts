import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ScheduleRow } from "../../store/index.ts";
import { nextTimes, pastTimes, type Timing, timingProblem } from "./cron.ts";
import { dueTimes } from "./due.ts";

const at = (text: string) => Date.parse(text);
const texts = (times: readonly number[]) => times.map((time) => new Date(time).toISOString());
const timing = (cron: string, timeZone = "UTC"): Timing => ({ cron, timeZone, startAt: -1, endAt: -1 });

describe("the times of an expression", () => {
  test("five fields are minutes, six begin with seconds", () => {
    expect(texts(nextTimes(timing("*/20 8 * * *"), at("2026-03-01T08:10:00Z"), 3))).toEqual([
      "2026-03-01T08:20:00.000Z",
      "2026-03-01T08:40:00.000Z",
      "2026-03-02T08:00:00.000Z",
    ]);
    expect(texts(nextTimes(timing("*/20 * * * * *"), at("2026-03-01T08:10:00.300Z"), 2))).toEqual([
      "2026-03-01T08:10:20.000Z",
      "2026-03-01T08:10:40.000Z",
    ]);
  });

  test("what falls into an hour that is skipped comes at its end", () => {
    const daily = timing("30 2 * * *", "America/New_York");
    expect(texts(nextTimes(daily, at("2026-03-07T12:00:00Z"), 2))).toEqual([
      "2026-03-08T07:00:00.000Z",
      "2026-03-09T06:30:00.000Z",
    ]);
    const hourly = timing("30 * * * *", "America/New_York");
    expect(texts(nextTimes(hourly, at("2026-03-08T06:00:00Z"), 2))).toEqual([
      "2026-03-08T06:30:00.000Z",
      "2026-03-08T07:30:00.000Z",
    ]);
  });

  test("in an hour that is repeated, a time of the day comes once, and every hour means both", () => {
    const daily = timing("30 1 * * *", "America/New_York");
    expect(texts(nextTimes(daily, at("2026-10-31T12:00:00Z"), 2))).toEqual([
      "2026-11-01T05:30:00.000Z",
      "2026-11-02T06:30:00.000Z",
    ]);
    const hourly = timing("30 * * * *", "America/New_York");
    expect(texts(nextTimes(hourly, at("2026-11-01T05:00:00Z"), 3))).toEqual([
      "2026-11-01T05:30:00.000Z",
      "2026-11-01T06:30:00.000Z",
      "2026-11-01T07:30:00.000Z",
    ]);
  });

  test("a start counts itself, an end too", () => {
    const bounded = {
      ...timing("0 * * * *"),
      startAt: at("2026-03-01T10:00:00Z"),
      endAt: at("2026-03-01T11:00:00Z"),
    };
    const all = ["2026-03-01T10:00:00.000Z", "2026-03-01T11:00:00.000Z"];
    expect(texts(nextTimes(bounded, 0, 5))).toEqual(all);
    expect(texts(pastTimes(bounded, 0, at("2026-03-02T00:00:00Z"), 5).reverse())).toEqual(all);
  });

  test("looking back finds what looking ahead foretold", () => {
    const crons = ["30 2 * * *", "*/20 * * * *", "15 1,2,3 * * 0", "0 0 1 * *", "10 */7 * * * *"];
    const zones = ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"];
    fc.assert(
      fc.property(
        fc.constantFrom(...crons),
        fc.constantFrom(...zones),
        fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-01-01T00:00:00Z") }),
        (cron, zone, from) => {
          const ahead = nextTimes(timing(cron, zone), from, 6);
          const last = ahead.at(-1) as number;
          expect(texts(pastTimes(timing(cron, zone), from, last, 6).reverse())).toEqual(texts(ahead));
          expect(pastTimes(timing(cron, zone), from, last - 1, 6)).toHaveLength(5);
        },
      ),
      { numRuns: 60, seed: 4711 },
    );
  });
});

test("what is wrong with an expression or a zone is said, with the field", () => {
  const problem = (cron: string, timeZone = "UTC") => timingProblem(timing(cron, timeZone));
  expect(problem("30 6 * * 1-5", "Europe/Berlin")).toBeUndefined();
  expect(problem("@daily")).toBeUndefined();
  expect(problem("* * * *")).toMatchObject({ field: "cron", detail: expect.stringContaining("five fields") });
  expect(problem("* * * * * * *")).toMatchObject({ field: "cron" });
  expect(problem("2026-12-01T00:00:00Z")).toMatchObject({ field: "cron" });
  expect(problem("@reboot")).toMatchObject({ field: "cron" });
  expect(problem("61 * * * *")).toEqual({
    field: "cron",
    detail: "cannot be read: Invalid value for minute: 61",
  });
  expect(problem("* * * * *", "Mars/Olympus")).toMatchObject({ field: "time_zone" });
  expect(timingProblem({ ...timing("* * * * *"), startAt: 2, endAt: 1 })).toMatchObject({ field: "end_at" });
});

describe("what is due after a while without anybody", () => {
  const row = (changed: Partial<ScheduleRow>): ScheduleRow => ({
    ...timing("* * * * *"),
    id: "s",
    zone: "z",
    agent: "a",
    name: "n",
    task: "{}",
    catchUp: "latest",
    catchUpLimit: 100,
    overlap: "allow",
    paused: false,
    createdAt: 0,
    seenTo: at("2026-03-01T00:00:00Z"),
    lastFiredAt: -1,
    lastTaskId: "",
    lastError: "",
    ...changed,
  });

  test("is the latest alone, or all up to a bound, or none but what is only just late", () => {
    const now = at("2026-03-01T00:05:30Z");
    expect(texts(dueTimes(row({}), now))).toEqual(["2026-03-01T00:05:00.000Z"]);
    expect(dueTimes(row({ catchUp: "all" }), now)).toHaveLength(5);
    expect(texts(dueTimes(row({ catchUp: "all", catchUpLimit: 2 }), now))).toEqual([
      "2026-03-01T00:04:00.000Z",
      "2026-03-01T00:05:00.000Z",
    ]);
    expect(dueTimes(row({ catchUp: "none" }), now)).toEqual([]);
    expect(dueTimes(row({ catchUp: "none" }), at("2026-03-01T00:05:09Z"))).toHaveLength(1);
    expect(dueTimes(row({}), at("2026-03-01T00:00:59.999Z"))).toEqual([]);
    expect(dueTimes(row({}), at("2026-03-01T00:01:00Z"))).toHaveLength(1);
  });

  test("is no burst, however far the clock has jumped", () => {
    const seconds = row({ cron: "* * * * * *" });
    const later = at("2036-03-01T00:00:00Z");
    expect(dueTimes(seconds, later)).toHaveLength(1);
    expect(dueTimes({ ...seconds, catchUp: "all" }, later)).toHaveLength(100);
    expect(dueTimes(seconds, at("2025-01-01T00:00:00Z"))).toEqual([]);
  });
});
