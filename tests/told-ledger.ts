// Ledgers that were told already, and what a service would have answered had they ended after some event.

import { readFileSync } from "node:fs";
import { Projection } from "../src/driver/index.ts";
import { type Block, BlockWriter, ChainVerifier, GENESIS, type Head, headOf } from "../src/ledger/index.ts";
import { apply, eventsOf, State } from "../src/scheduler/index.ts";
import { EventStream } from "../src/server/event-stream.ts";
import { LastAssignments } from "../src/server/explanation.ts";
import { Reader } from "../src/server/reader.ts";
import { RecentActivity } from "../src/server/recent-activity.ts";
import { RecentAttempts } from "../src/server/recent-attempts.ts";
import { StreamIds } from "../src/server/stream-ids.ts";
import { simulate } from "../src/simulator/index.ts";
import { MemoryStore } from "../src/store/index.ts";

export const STREAM_KEY: Uint8Array = Buffer.alloc(32, 7);

function blocksOf(lines: readonly string[]): Block[] {
  const verifier = new ChainVerifier();
  return lines.map((line) => {
    const block = verifier.accept(line);
    if ("code" in block) throw new Error(`${block.seq}: ${block.detail}`);
    return block;
  });
}

export function goldenBlocks(version: string): Block[] {
  const text = readFileSync(new URL(`golden/${version}.jsonl`, import.meta.url), "utf8");
  return blocksOf(text.split("\n").slice(0, -1));
}

export async function simulatedBlocks(seed: number): Promise<Block[]> {
  return blocksOf((await simulate(seed)).lines);
}

/** What a service answers whose ledger ends after that event. */
export async function readerUpTo(blocks: readonly Block[], at: number): Promise<Reader> {
  const state = new State();
  const store = new MemoryStore();
  const projection = new Projection(store);
  const stream = new EventStream(new StreamIds(STREAM_KEY), 0, { state }, 1_000_000);
  const assignments = new LastAssignments(1_000_000);
  const attempts = new RecentAttempts({ state }, 1_000_000);
  let head: Head = GENESIS;
  for (const block of blocks) {
    const writer = new BlockWriter();
    for (const { seq, now, event } of eventsOf(block)) {
      if (seq > at) break;
      projection.note(state, event, now, undefined);
      apply(state, event, now);
      writer.add(event);
    }
    if (writer.count === 0) break;
    const part = writer.seal(head, block.epoch, block.now);
    head = headOf(part);
    await store.commit(part, projection.take());
    const facts = projection.takeFacts();
    assignments.follow(facts);
    attempts.follow(facts);
    stream.publish(facts);
  }
  // As every turn does first.
  state.offerDue(state.now);
  state.arrangeRuns(state.now);
  return new Reader({
    driver: {
      read: async (look) => look(state),
      now: () => state.now,
      timeOfDay: () => state.timeOfDay(state.now),
    },
    store,
    workers: { progressOf: () => undefined, isAway: () => false, chunksOf: () => undefined },
    stream,
    assignments,
    recent: new RecentActivity(),
    attempts,
  });
}
