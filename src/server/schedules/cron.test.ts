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

  test("times of the day that are lists or ranges come once each, too, whatever clocks do", () => {
    const halves = timing("0,30 2 * * *", "Europe/Berlin");
    expect(texts(nextTimes(halves, at("2027-03-27T12:00:00Z"), 3))).toEqual([
      "2027-03-28T01:00:00.000Z", // both, at the end of the hour that is skipped
      "2027-03-29T00:00:00.000Z",
      "2027-03-29T00:30:00.000Z",
    ]);
    expect(texts(nextTimes(halves, at("2027-10-30T12:00:00Z"), 3))).toEqual([
      "2027-10-31T00:00:00.000Z",
      "2027-10-31T00:30:00.000Z",
      "2027-11-01T01:00:00.000Z",
    ]);
    const quarters = timing("15 1-3 * * *", "Europe/Berlin");
    expect(texts(nextTimes(quarters, at("2027-03-27T12:00:00Z"), 3))).toEqual([
      "2027-03-28T00:15:00.000Z",
      "2027-03-28T01:00:00.000Z",
      "2027-03-28T01:15:00.000Z",
    ]);
    expect(texts(nextTimes(quarters, at("2027-10-30T12:00:00Z"), 4))).toEqual([
      "2027-10-30T23:15:00.000Z",
      "2027-10-31T00:15:00.000Z",
      "2027-10-31T02:15:00.000Z",
      "2027-11-01T00:15:00.000Z",
    ]);
  });

  test("a nickname is what it stands for, also where clocks change at midnight", () => {
    for (const [zone, day] of [
      ["America/Havana", "2026-11-01"],
      ["America/Havana", "2026-03-08"],
      ["Africa/Cairo", "2026-04-24"],
    ] as const) {
      const from = at(`${day}T00:00:00Z`) - 36 * 3_600_000;
      const times = nextTimes(timing("@daily", zone), from, 4);
      expect(times, `${zone} ${day}`).toEqual(nextTimes(timing("0 0 * * *", zone), from, 4));
      expect(
        times.slice(1).map((time, index) => Math.round((time - (times[index] ?? 0)) / 86_400_000)),
      ).toEqual([1, 1, 1]);
    }
  });

  test("every time of the day that an expression says comes on every day of the year, once", () => {
    const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 });
    const hours = fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 3 });
    const zones = fc.constantFrom("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "UTC");
    fc.assert(
      fc.property(minutes, hours, zones, (minute, hour, zone) => {
        const daily = timing(`${minute.join()} ${hour.join()} * * *`, zone);
        const [from, to] = [at("2027-01-01T12:00:00Z"), at("2028-01-01T12:00:00Z")];
        const clock = new Intl.DateTimeFormat("en-GB", {
          timeZone: zone,
          dateStyle: "short",
          timeStyle: "short",
        });
        const said = nextTimes(daily, from, 4000)
          .filter((time) => time <= to)
          .map((time) => clock.format(time));
        expect(new Set(said).size).toBe(said.length);
        const count = minute.length * hour.length;
        // What would fall into the time that is skipped comes at its end, together.
        expect(said.length).toBeGreaterThan(365 * count - count);
        expect(said.length).toBeLessThanOrEqual(365 * count);
        expect(new Set(said.map((text) => text.slice(0, 10))).size).toBeGreaterThanOrEqual(365);
      }),
      { numRuns: 20, seed: 4711 },
    );
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
    const crons = [
      "30 2 * * *",
      "0,30 1-2 * * *",
      "*/20 * * * *",
      "15 1,2,3 * * 0",
      "0 0 1 * *",
      "10 */7 * * * *",
    ];
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

const NOW = Date.parse("2026-03-01T00:00:00Z");

test("what is wrong with an expression or a zone is said, with the field", () => {
  const problem = (cron: string, timeZone = "UTC") => timingProblem(timing(cron, timeZone), NOW);
  expect(problem("30 6 * * 1-5", "Europe/Berlin")).toBeUndefined();
  expect(problem("@daily")).toBeUndefined();
  expect(problem("* * * *")).toMatchObject({ field: "cron", detail: expect.stringContaining("five fields") });
  expect(problem("* * * * * * *")).toMatchObject({ field: "cron" });
  expect(problem("2026-12-01T00:00:00Z")).toMatchObject({ field: "cron" });
  expect(problem("@reboot")).toMatchObject({ field: "cron" });
  const detail = (cron: string) => problem(cron)?.detail;
  expect(problem("61 * * * *")).toEqual({
    field: "cron",
    detail:
      'has a minute that cannot be read: must be from 0 to 59, such as "5", "1,15", "9-17" or "*/10"; got "61"',
  });
  expect(detail("a * * * *")).toContain("has a minute that");
  expect(detail("*/0 * * * * *")).toContain("has a second that");
  expect(detail("* 5-1 * * *")).toContain("has an hour that");
  expect(detail("* * 0 * *")).toMatch(/has a day of the month that .* 1 to 31.*got "0"/);
  expect(detail("* * * 13 *")).toMatch(/has a month that .* 1 to 12.*got "13"/);
  expect(detail("0 0 * JANU *")).toContain('got "JANU"');
  expect(detail("* * * * 8")).toContain("has a day of the week that");
  expect(problem("* * * * *", "Mars/Olympus")).toEqual({
    field: "time_zone",
    detail: 'must be an IANA time zone such as "Europe/Berlin" or "UTC"; got "Mars/Olympus"',
  });
  const bounded = (startAt: number, endAt: number, cron = "0 0 1 1 *") =>
    timingProblem({ ...timing(cron), startAt, endAt }, NOW);
  expect(bounded(2, 1)).toMatchObject({ field: "end_at" });
  for (const never of ["0 0 30 2 *", "0 0 31 4,6,9,11 *"])
    expect(bounded(-1, NOW + 1, never)).toMatchObject({
      field: "cron",
      detail: expect.stringContaining("never comes"),
    });
  expect(problem("0 0 29 2 1")).toBeUndefined();
  expect(bounded(-1, NOW + 1)).toEqual({
    field: "end_at",
    detail: "must not be before its first time, which is 2027-01-01T00:00:00.000Z",
  });
  expect(bounded(-1, Date.parse("2027-01-01T00:00:00Z"))).toBeUndefined();
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
    keyId: "",
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
