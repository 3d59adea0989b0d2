import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_LINE_BYTES, outputLines } from "./output-lines.ts";

function handedOver(chunks: readonly Uint8Array[]): string[] {
  const texts: string[] = [];
  const lines = outputLines((text) => texts.push(text));
  for (const chunk of chunks) lines.push(Buffer.from(chunk));
  lines.end();
  return texts;
}

test("lines are handed over whole, and the last without its newline at the end", () => {
  expect(handedOver([Buffer.from("a\nb"), Buffer.from("c\nd\ne")])).toEqual(["a\n", "bc\nd\n", "e"]);
});

test("no borders between chunks change the text, even within a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.nat(40)), (text, borders) => {
      const bytes = Buffer.from(text.toWellFormed());
      const cuts = [0, ...borders.toSorted((a, b) => a - b), bytes.length];
      const chunks = cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end));
      expect(handedOver(chunks).join("")).toBe(text.toWellFormed());
    }),
  );
});

test("bytes that are not UTF-8 become replacement characters", () => {
  expect(handedOver([Buffer.from([0x61, 0xff, 0xfe, 0x0a, 0xc3])])).toEqual(["a\ufffd\ufffd\n", "\ufffd"]);
});

test("a line that is too long is cut between characters, and the next one is whole again", () => {
  const long = "x".repeat(MAX_LINE_BYTES - 1);
  const texts = handedOver([Buffer.from(`${long}é and more`), Buffer.from(" and more\nnext\n")]);
  expect(texts).toEqual([`${long}…\nnext\n`]);
});

test("a line of exactly the longest length is not cut", () => {
  const longest = "x".repeat(MAX_LINE_BYTES);
  expect(handedOver([Buffer.from(longest), Buffer.from("\n")])).toEqual([`${longest}\n`]);
});
