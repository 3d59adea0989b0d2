import fc from "fast-check";
import { expect, test } from "vitest";
import { HrrnQueue } from "./hrrn-queue.ts";
import type { Entry } from "./index.ts";

const NOW = 1_790_000_000_000;

function anEntry(id: string, readyAt: number, estimateMs: number): Entry {
  return {
    id,
    readyAt,
    estimateMs,
    tier: 2,
    class: 1,
    deadline: -1,
    seq: 1,
    standing: 0,
    weight: 0,
    node: 0,
  };
}

/** Steps that visit every place once, far apart. */
function scattered(count: number): number[] {
  return Array.from({ length: count }, (_, i) => (i * 7_919) % count);
}

function drain(queue: HrrnQueue, now: number): string[] {
  const ids: string[] = [];
  for (let first = queue.first(now); first; first = queue.first(now)) {
    ids.push(first.id);
    queue.delete(first);
  }
  return ids;
}

function sizesOf(queue: HrrnQueue): number[] {
  const blocks = new Set([...queue.entries()].map(({ home }) => home));
  return [...blocks].map((block) => block?.size ?? 0);
}

test("[Q-09] where thousands of ratios are equal the older goes first, and of equal points the smaller id", () => {
  const queue = new HrrnQueue();
  const entries: Entry[] = [];
  for (const i of scattered(3_000)) {
    const estimateMs = 1_000_000_000 + (i >>> 1);
    entries.push(
      anEntry(`${i % 2 === 0 ? "z" : "a"}${(i * 31) % 1_000}-${i}`, NOW - 3 * estimateMs, estimateMs),
    );
  }
  for (const entry of entries) queue.add(entry);
  entries.sort((a, b) => a.readyAt - b.readyAt || (a.id < b.id ? -1 : 1));
  expect(drain(queue, NOW)).toEqual(entries.map(({ id }) => id));
});

test("[Q-09] ratios that differ by less than a double can tell are told apart", () => {
  // Off by one millisecond in three thousand million, where the products are some 10^19.
  const queue = new HrrnQueue();
  const entries: Entry[] = [];
  for (const i of scattered(2_000)) {
    const estimateMs = 3_000_000_000 + i;
    entries.push(anEntry(`${i}`, NOW - estimateMs - (i % 3), estimateMs));
  }
  for (const entry of entries) queue.add(entry);
  entries.sort((a, b) => {
    const left = BigInt(NOW - a.readyAt) * BigInt(b.estimateMs);
    const right = BigInt(NOW - b.readyAt) * BigInt(a.estimateMs);
    return left > right ? -1 : left < right ? 1 : a.readyAt - b.readyAt || (a.id < b.id ? -1 : 1);
  });
  expect(drain(queue, NOW)).toEqual(entries.map(({ id }) => id));
});

test("[Q-09] in the moment in which tasks become ready their ids decide, in the next their estimates", () => {
  const queue = new HrrnQueue();
  const [slow, quick] = [anEntry("a", NOW, 9), anEntry("b", NOW, 2)];
  queue.add(quick);
  queue.add(slow);
  expect([queue.first(NOW), queue.first(NOW + 1)]).toEqual([slow, quick]);
});

test("[Q-11] blocks neither overflow nor stay nearly empty, whatever is removed or handed over", () => {
  const anyMove = fc.tuple(
    fc.constantFrom("add", "add", "delete", "hand over"),
    fc.integer({ min: 1, max: 900 }),
    fc.nat(10_000),
  );
  fc.assert(
    fc.property(fc.array(anyMove, { minLength: 5, maxLength: 30 }), (moves) => {
      const queue = new HrrnQueue();
      const other = new HrrnQueue();
      let made = 0;
      let left = 0;
      for (const [kind, count, seed] of moves) {
        if (kind === "add") {
          for (let i = 0; i < count; i++) {
            const readyAt = NOW - ((i * seed) % 5_000);
            queue.add(anEntry(`${made++}`, readyAt, 1 + ((i * seed) % 977)));
            left++;
          }
        } else if (kind === "hand over") queue.handOver(NOW - (seed % 6_000), other);
        else {
          const waiting = [...queue.entries(), ...other.entries()];
          for (const i of scattered(Math.min(count, waiting.length))) {
            const entry = waiting[(i + seed) % waiting.length] as Entry;
            const waits = entry.home !== undefined;
            expect(queue.delete(entry) || other.delete(entry)).toBe(waits);
            if (waits) left--;
          }
        }
        for (const part of [queue, other]) {
          const waiting = [...part.entries()];
          expect(waiting.length).toBe(part.size);
          const sizes = sizesOf(part);
          expect(sizes.filter((size) => size < 128).length).toBeLessThanOrEqual(1);
          expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(512);
        }
        expect(queue.size + other.size).toBe(left);
      }
    }),
    { seed: 1, numRuns: 40 },
  );
});

test("[Q-11] a block that became small is poured into the open one only if it fits; else it is the open one", () => {
  const queue = new HrrnQueue();
  const entries = Array.from({ length: 912 }, (_, i) => anEntry(`${i}`, NOW + i, 1 + (i % 100)));
  for (const entry of entries) queue.add(entry);
  for (const entry of entries.slice(0, 385)) queue.delete(entry);
  expect(sizesOf(queue)).toEqual([127, 400]);
  queue.add(anEntry("new", NOW, 1));
  expect(sizesOf(queue)).toEqual([128, 400]);
  for (const entry of entries.slice(512, 785)) queue.delete(entry);
  expect(sizesOf(queue)).toEqual([255]);
});

test("[Q-11] small blocks that are handed over one after the other become one", () => {
  const queue = new HrrnQueue();
  const other = new HrrnQueue();
  for (let i = 0; i < 300; i++) {
    queue.add(anEntry(`${i}`, NOW + i, 1 + (i % 100)));
    queue.handOver(NOW + i + 1, other);
  }
  expect([sizesOf(queue), sizesOf(other)]).toEqual([[], [300]]);
});

test("[Q-13] what became ready before a time is handed over, and nothing else", () => {
  const queue = new HrrnQueue();
  const other = new HrrnQueue();
  for (const i of scattered(2_000)) queue.add(anEntry(`${i}`, NOW + i, 1 + (i % 100)));
  for (const limit of [0, 1, 700, 701, 1_500, 2_001]) {
    queue.handOver(NOW + limit, other);
    const ages = [...other.entries()].map(({ readyAt }) => readyAt - NOW).sort((a, b) => a - b);
    expect(ages).toEqual(Array.from({ length: Math.min(limit, 2_000) }, (_, i) => i));
    expect(queue.size + other.size).toBe(2_000);
  }
});
