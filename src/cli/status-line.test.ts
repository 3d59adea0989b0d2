import { afterEach, expect, test, vi } from "vitest";
import { StatusLine } from "./status-line.ts";

const { isTTY } = process.stderr;

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  process.stderr.isTTY = isTTY;
});

/** What is written while something new could be said every millisecond for a second. */
function written(isTerminal: boolean): string[] {
  vi.useFakeTimers({ toFake: ["performance"] });
  const texts: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => texts.push(String(text)) > 0);
  process.stderr.isTTY = isTerminal;
  const line = new StatusLine();
  for (let ms = 0; ms < 1_000; ms++) {
    line.show(() => `after ${ms} ms`);
    vi.advanceTimersByTime(1);
  }
  line.clear();
  return texts;
}

test("a terminal is told how it goes, ten times a second, and in the end nothing is left of it", () => {
  const texts = written(true);
  expect(texts).toHaveLength(11);
  expect(texts[1]).toBe("\r\x1b[Kafter 100 ms");
  expect(texts.at(-1)).toBe("\r\x1b[K");
});

test("elsewhere nothing is said", () => {
  expect(written(false)).toEqual([]);
});
