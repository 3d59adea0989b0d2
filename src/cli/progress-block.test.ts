import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDuration } from "../words/index.ts";
import { type ProgressNode, type ProgressView, renderBlock } from "./progress-block.ts";
import { textWidth } from "./terminal-text.ts";

const fetch: ProgressNode = { id: "fetch", worker: "w1", attempt: 1, startedAtMs: 58_000, estimateMs: 8_000 };
const view: ProgressView = {
  name: "nightly",
  total: 40,
  completed: 12,
  failed: 0,
  skipped: 0,
  cancelled: 0,
  waiting: 20,
  ready: 7,
  running: [fetch],
  elapsedMs: 62_900,
  remainingMs: 80_000,
  cancelling: false,
};

describe("the header", () => {
  const header = (changes: Partial<ProgressView>, columns = 100): string | undefined =>
    renderBlock({ ...view, ...changes }, columns, 24, false)[0];

  test("says how far the run is and how long it will take", () => {
    expect(header({})).toBe(
      "nightly ██████░░░░░░░░░░░░░░░░ 12/40 done · 1 running · 7 ready · 20 waiting · 1m 02s · ~1m 20s left",
    );
  });

  test("tells what failed from what is done", () => {
    const changes = { completed: 20, failed: 10, skipped: 10, running: [], ready: 0, waiting: 0 };
    expect(header(changes)).toContain("▓".repeat(15));
    expect(header(changes)).toContain("20/40 done · 10 failed · 10 skipped");
  });

  test("promises no time while it is cancelling", () => {
    expect(header({ cancelling: true })).toMatch(/ cancelling · 12\/40 done/);
    expect(header({ cancelling: true })).not.toContain("left");
  });

  test("is full only when everything has settled", () => {
    expect(header({ total: 1_000, completed: 999 })).toContain("░");
    expect(header({ total: 1_000, completed: 1_000 })).not.toContain("░");
  });

  test("gives up the least important as the screen gets narrower", () => {
    const failed = { failed: 1 };
    expect(header(failed, 70)).toBe("nightly ███▓░░░░░░░░░ 12/40 done · 1 running · 1 failed · ~1m 20s left");
    expect(header(failed, 60)).toBe("nightly 12/40 done · 1 running · 1 failed · ~1m 20s left");
    expect(header(failed, 50)).toBe("nightly 12/40 done · 1 failed · ~1m 20s left");
    expect(header(failed, 24)).toBe("nightly 12/40 done");
  });
});

describe("the running nodes", () => {
  const lines = (running: readonly ProgressNode[], columns = 80, rows = 24): string[] =>
    renderBlock({ ...view, running }, columns, rows, false).slice(1);

  test("stand in columns, with their time against the estimate", () => {
    const compile = { ...fetch, id: "编译", worker: "builder-2", attempt: 3, startedAtMs: 0 };
    const unknown = { ...fetch, id: "train-model", estimateMs: 0, attempt: 2 };
    expect(lines([fetch, compile, unknown])).toEqual([
      "  fetch        w1             4s  ━━━━━━────",
      "  编译         builder-2  1m 02s  ━━━━━━━━━━  attempt 3",
      "  train-model  w1             4s              attempt 2",
    ]);
  });

  test("are as many as the screen has room for", () => {
    const many = Array.from({ length: 20 }, (_, i) => ({ ...fetch, id: `node-${i}` }));
    expect(lines(many, 80, 25)).toHaveLength(20);
    expect(lines(many, 80, 24)).toHaveLength(19);
    expect(lines(many, 80, 24).at(-1)).toBe("  … and 2 more");
    expect(lines(many, 80, 6)).toEqual(["  … and 20 more"]);
    expect(lines(many, 80, 5)).toEqual([]);
  });

  test("cannot act on the terminal by their names", () => {
    expect(lines([{ ...fetch, id: "a\x1b[2J", worker: "b\nc" }])[0]).toContain("  a\\x1b[2J  b\\x0ac ");
  });
});

test("no block is wider or higher than the screen, and color changes nothing but color", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 60 });
  const node = fc.record({
    id: text,
    worker: text,
    attempt: fc.integer({ min: 1, max: 20 }),
    startedAtMs: fc.nat(),
    estimateMs: fc.nat(),
  });
  const count = fc.nat(100_000);
  const anyView: fc.Arbitrary<ProgressView> = fc
    .record({
      name: text,
      completed: count,
      failed: count,
      skipped: count,
      cancelled: count,
      waiting: count,
      ready: count,
      running: fc.array(node, { maxLength: 40 }),
      elapsedMs: fc.nat(),
      remainingMs: fc.option(fc.nat(), { nil: undefined }),
      cancelling: fc.boolean(),
    })
    .map((counts) => ({
      ...counts,
      total: counts.completed + counts.failed + counts.skipped + counts.cancelled + counts.waiting,
    }));
  const size = fc.integer({ min: 1, max: 200 });
  fc.assert(
    fc.property(anyView, size, size, (shown, columns, rows) => {
      const plain = renderBlock(shown, columns, rows, false);
      const painted = renderBlock(shown, columns, rows, true);
      expect(painted.map(stripVTControlCharacters)).toEqual(plain);
      expect(plain.length).toBeLessThanOrEqual(Math.max(1, rows - 4));
      for (const line of plain) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    }),
  );
});

test("durations are in whole seconds", () => {
  expect([0, 999, 59_999, 60_000, 3_599_999, 7_380_000].map(formatDuration)).toEqual([
    "0s",
    "0s",
    "59s",
    "1m 00s",
    "59m 59s",
    "2h 03m",
  ]);
});
