import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  MAX_DURATION_MS,
  parseCpuMillicores,
  parseDurationMs,
  parseMemoryBytes,
  parsePriority,
  parseTshirtSizeMs,
} from "./units.ts";

const UNITS_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

describe("durations", () => {
  test.each([
    [30, 30_000],
    [0.25, 250],
    [0, 0],
    ["90s", 90_000],
    ["1h30m", 5_400_000],
    ["1h 30m", 5_400_000],
    ["250ms", 250],
    ["2d", 172_800_000],
    ["1.5h", 5_400_000],
    ["1m1ms", 60_001],
  ])("%j is %d ms", (value, ms) => expect(parseDurationMs(value)).toBe(ms));

  test("halves of a millisecond round up, also where binary fractions fall just short", () => {
    expect(parseDurationMs(1.0005)).toBe(1001);
    expect(parseDurationMs("1.0005s")).toBe(1001);
    expect(parseDurationMs("0.4ms")).toBe(0);
    expect(parseDurationMs("0.5ms")).toBe(1);
    expect(parseDurationMs(1e-7)).toBe(0);
    expect(parseDurationMs(0.1 + 0.2)).toBe(300);
  });

  test.each([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    "",
    " ",
    "-5s",
    "30",
    "5 parsecs",
    "30m1h",
    "1m30",
    "1h1h",
    "10M",
    null,
    true,
    [],
    {},
    "9".repeat(100),
  ])("%j is refused", (value) =>
    expect(parseDurationMs(value)).toEqual({ refusal: expect.stringContaining("must") }),
  );

  test("ten years are the most", () => {
    expect(parseDurationMs("3650d")).toBe(MAX_DURATION_MS);
    expect(parseDurationMs("3650d1ms")).toEqual({ refusal: "must be at most 10 years" });
    expect(parseDurationMs(1e300)).toEqual({ refusal: "must be at most 10 years" });
  });

  test("what is written in units reads as their sum", () => {
    const count = fc.option(fc.nat(999), { nil: undefined });
    fc.assert(
      fc.property(fc.record({ d: count, h: count, m: count, s: count, ms: count }), (counts) => {
        const given = (["d", "h", "m", "s", "ms"] as const).filter((unit) => counts[unit] !== undefined);
        fc.pre(given.length > 0);
        const text = given.map((unit) => `${counts[unit]}${unit}`).join("");
        const sum = given.reduce((ms, unit) => ms + (counts[unit] ?? 0) * UNITS_MS[unit], 0);
        expect(parseDurationMs(text)).toBe(sum);
      }),
    );
  });

  test("whole milliseconds survive being written as seconds", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_DURATION_MS }), (ms) => {
        expect(parseDurationMs(ms / 1000)).toBe(ms);
        expect(parseDurationMs(`${ms}ms`)).toBe(ms);
      }),
    );
  });

  test("tenths of a millisecond round half up in whole numbers", () => {
    fc.assert(
      fc.property(fc.nat(3_000_000_000), (tenths) => {
        expect(parseDurationMs(`${Math.floor(tenths / 10)}.${tenths % 10}ms`)).toBe(
          Math.floor((tenths + 5) / 10),
        );
      }),
    );
  });
});

describe("cpu", () => {
  test.each([
    [0.5, 500],
    [0, 0],
    [2, 2000],
    ["500m", 500],
    ["1500m", 1500],
    [0.0015, 2],
  ])("%j is %d millicores", (value, millicores) => expect(parseCpuMillicores(value)).toBe(millicores));

  test.each([Number.NaN, -1, "0.5", "m", "1.5m", 0.0001, 1e9, "two", null])("%j is refused", (value) =>
    expect(parseCpuMillicores(value)).toEqual({ refusal: expect.stringContaining("must") }),
  );

  test("whole millicores survive being written as cores", () => {
    fc.assert(
      fc.property(fc.nat(1_000_000_000), (millicores) => {
        expect(parseCpuMillicores(millicores / 1000)).toBe(millicores);
        expect(parseCpuMillicores(`${millicores}m`)).toBe(millicores);
      }),
    );
  });
});

describe("memory", () => {
  test.each([
    [1024, 1024],
    ["10B", 10],
    ["1KB", 1000],
    ["1KiB", 1024],
    ["512MiB", 536_870_912],
    ["2GB", 2_000_000_000],
    ["1.5GiB", 1_610_612_736],
    ["1 TiB", 1_099_511_627_776],
  ])("%j is %d bytes", (value, bytes) => expect(parseMemoryBytes(value)).toBe(bytes));

  test.each([0.5, Number.NaN, -1, "512", "512mb", "MiB", "1Mi", "99999999TiB", 2 ** 53, null, []])(
    "%j is refused",
    (value) => expect(parseMemoryBytes(value)).toEqual({ refusal: expect.stringContaining("must") }),
  );

  test("a whole number of units reads as that many times the unit", () => {
    const units = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
    fc.assert(
      fc.property(fc.nat(100_000), fc.constantFrom(...Object.entries(units)), (count, [unit, bytes]) => {
        expect(parseMemoryBytes(`${count}${unit}`)).toBe(count * bytes);
      }),
    );
  });
});

test("[G-02] sizes are estimates in hours", () => {
  const hours = ["XS", "S", "M", "L", "XL"].map((size) => Number(parseTshirtSizeMs(size)) / 3_600_000);
  expect(hours).toEqual([1, 2, 4, 8, 16]);
  expect(parseTshirtSizeMs("XXL")).toEqual({ refusal: 'must be XS, S, M, L or XL; got "XXL"' });
});

test("[Q-01] a priority is a name, a number or P and a number", () => {
  const names = ["critical", "high", "normal", "low", "best_effort"];
  for (const [level, name] of names.entries()) {
    expect([name, level, `P${level}`].map(parsePriority)).toEqual([level, level, level]);
  }
  for (const value of ["urgent", 5, -1, 0.5, "P5", "p", null, true, Number.NaN]) {
    expect(parsePriority(value)).toEqual({ refusal: expect.stringContaining("best_effort") });
  }
});
