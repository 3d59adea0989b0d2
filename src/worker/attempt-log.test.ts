import fc from "fast-check";
import { expect, test } from "vitest";
import type { LogEntry } from "../protocol/index.ts";
import { AttemptLog } from "./attempt-log.ts";
import { LogQueue } from "./log-queue.ts";

function logged(texts: readonly string[], limitBytes = 1_000_000): LogEntry[] {
  const entries: LogEntry[] = [];
  const log = new AttemptLog({ task: "t", attempt: 1 }, limitBytes, (entry) => entries.push(entry));
  for (const text of texts) log.add("stdout", text);
  return entries;
}

const textsOf = (entries: readonly LogEntry[]): string[] => entries.map(({ text }) => text);

test("lines come without their last newline, and empty lines stay", () => {
  expect(textsOf(logged(["one\ntwo\n", "three", "\n"]))).toEqual(["one\ntwo", "three", ""]);
});

test("long texts are split at lines where there are some, and never within a character", () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index} ${"x".repeat(50)}`).join("\n");
  expect(textsOf(logged([lines])).join("\n")).toBe(lines);
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 5 }), (unit) => {
      const text = unit.repeat(Math.ceil(40_000 / unit.length)).replaceAll("\n", "_");
      const pieces = textsOf(logged([text]));
      expect(pieces.join("")).toBe(text.toWellFormed());
      expect(pieces.every((piece) => piece.length <= 16_384 && piece.isWellFormed())).toBe(true);
    }),
  );
});

test("what is kept never exceeds the limit, and the cut is said once", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.nat(100), (texts, limit) => {
      const entries = logged(texts, limit);
      const said = entries.filter(({ stream }) => stream === "log");
      const kept = entries.filter(({ stream }) => stream === "stdout");
      expect(Buffer.byteLength(textsOf(kept).join(""))).toBeLessThanOrEqual(limit);
      expect(said.length).toBeLessThanOrEqual(1);
      if (said.length === 1) expect(entries.at(-1)).toBe(said[0]);
    }),
  );
});

test("entries are taken in batches that fit into a message", () => {
  const queue = new LogQueue(() => {});
  const entry = (text: string): LogEntry => ({ task: "t", attempt: 1, at: 0, stream: "log", text });
  for (let index = 0; index < 1_500; index++) queue.add(entry("short"));
  for (let index = 0; index < 40; index++) queue.add(entry("x".repeat(16_384)));
  const batches = queue.take();
  expect(batches.flat()).toHaveLength(1_540);
  for (const batch of batches) {
    expect(batch.length).toBeLessThanOrEqual(1_000);
    expect(batch.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(256 * 1024);
  }
  expect(queue.take()).toEqual([]);
});
