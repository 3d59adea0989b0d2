// What a ledger that was written by a loop must give again.

import { expect } from "vitest";
import {
  Redecider,
  replayBlock,
  restore,
  type Snapshot,
  State,
  stateHash,
  takeSnapshot,
} from "../src/scheduler/index.ts";
import type { Loop } from "./builders.ts";

export function expectReplayed(loop: Loop): void {
  const replayed = new State();
  const decider = new Redecider();
  for (const [at, block] of loop.blocks.entries()) {
    replayBlock(replayed, block);
    expect(decider.check(block)).toEqual(undefined);
    if (at % 5 !== 0) continue;
    const copy = restore(JSON.parse(JSON.stringify(takeSnapshot(replayed))) as Snapshot);
    expect(stateHash(copy)).toBe(stateHash(replayed));
  }
  expect(stateHash(replayed)).toBe(stateHash(loop.state));
}
