import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyEvent } from "../../tests/any-event.ts";
import {
  type Block,
  BlockWriter,
  ChainVerifier,
  encodeEvent,
  GENESIS,
  type Head,
  headOf,
  type LedgerEvent,
} from "./index.ts";

const anyHead: fc.Arbitrary<Head> = fc.record({
  epoch: fc.nat(),
  seq: fc.nat(),
  hash: fc.stringMatching(/^[0-9a-f]{64}$/),
});

test("[P-15] a block's hash is the SHA-256 of its line's bytes before the hash", () => {
  fc.assert(
    fc.property(anyHead, fc.array(anyEvent, { maxLength: 5 }), (head, events) => {
      const block = blockOf(head, events);
      const bytes = Buffer.from(block.line);
      const body = bytes.subarray(0, bytes.lastIndexOf(',"hash":"'));
      const digest = createHash("sha256").update(body).digest("hex");
      expect(block.hash).toBe(digest);
      expect(block.line.endsWith(`,"hash":"${digest}"}`)).toBe(true);
    }),
    { seed: 1, numRuns: 300 },
  );
});

test("[P-15] a block's line is JSON that holds the hash before it, and a running check for every event", () => {
  fc.assert(
    fc.property(anyHead, fc.array(anyEvent, { maxLength: 5 }), (head, events) => {
      const texts = events.map(encodeEvent);
      const block = blockOf(head, events);
      const checks = texts.map((_, at) => crc32(texts.slice(0, at + 1).join("")));
      expect(JSON.parse(block.line)).toEqual({
        v: 1,
        epoch: 7,
        seq: head.seq + 1,
        prev: head.hash,
        now: 1234,
        events: texts.map((text) => JSON.parse(text)),
        checks: checks.map((check) => check.toString(16).padStart(8, "0")).join(""),
        hash: block.hash,
      });
    }),
    { seed: 2, numRuns: 300 },
  );
});

test("[P-14] the sequence goes on from block to block without gaps", () => {
  let head = GENESIS;
  const seqs: number[] = [];
  const writer = new BlockWriter();
  for (const count of [1, 3, 2]) {
    for (let at = 0; at < count; at++) writer.add({ kind: "DrainRequested", worker: at });
    const block = writer.seal(head, 1, 0);
    expect(new ChainVerifier(head, 0).accept(block.line)).toEqual(block);
    seqs.push(...Array.from({ length: block.count }, (_, at) => block.seq + at));
    head = headOf(block);
  }
  expect(seqs).toEqual([1, 2, 3, 4, 5, 6]);
  expect(head.seq).toBe(6);
});

function blockOf(head: Head, events: readonly LedgerEvent[]): Block {
  const writer = new BlockWriter();
  for (const event of events) writer.add(event);
  expect(writer.count).toBe(events.length);
  return writer.seal(head, 7, 1234);
}
