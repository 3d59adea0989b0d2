import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyPlay, type Play, perform } from "../../tests/any-play.ts";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import {
  type Block,
  BlockWriter,
  ChainVerifier,
  GENESIS,
  headOf,
  type LedgerEvent,
} from "../ledger/index.ts";
import {
  eventsOf,
  Redecider,
  replayBlock,
  restore,
  type Snapshot,
  State,
  stateHash,
  takeSnapshot,
} from "./index.ts";

const SEED = { seed: 1, numRuns: 15 };

test("[P-14] logical time grows by one with every event", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const { blocks, state } = played(story);
      const seqs = blocks.flatMap(eventsOf).map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, at) => at + 1));
      expect(state.seq).toBe(seqs.length);
    }),
    SEED,
  );
});

test("[P-15] the ledger verifies, and replay rebuilds the state, from nothing and from every snapshot", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const { blocks, snapshots, hashes } = played(story);
      const verifier = new ChainVerifier();
      const states = [new State()];
      for (const [at, block] of blocks.entries()) {
        expect(verifier.accept(block.line)).toEqual(block);
        for (const state of states) replayBlock(state, block);
        expect(new Set(states.map(stateHash))).toEqual(new Set([hashes[at]]));
        states.push(restore(copied(snapshots[at] as Snapshot)));
        expect(stateHash(states.at(-1) as State)).toBe(hashes[at]);
        if (states.length > 4) states.splice(1, 1);
      }
    }),
    SEED,
  );
});

test("[P-15] deciding again gives the same ledger, from nothing and from every snapshot", () => {
  fc.assert(
    fc.property(anyPlay, (story) => {
      const { blocks, snapshots, hashes } = played(story);
      const whole = new Redecider();
      for (const [at, block] of blocks.entries()) {
        expect(whole.check(block)).toBeUndefined();
        const before = blocks[at - 1];
        const snapshot = snapshots[at - 1];
        if (!before || !snapshot) continue;
        const resumed = new Redecider(restore(copied(snapshot)), headOf(before));
        expect(resumed.check(block)).toBeUndefined();
        expect(stateHash(resumed.state)).toBe(hashes[at]);
      }
      expect(stateHash(whole.state)).toBe(hashes.at(-1));
    }),
    SEED,
  );
});

describe("[P-15] a ledger that was written anew around another decision verifies, but is not decided again:", () => {
  const changes: readonly (readonly [string, LedgerEvent["kind"], (event: LedgerEvent) => LedgerEvent[]])[] =
    [
      ["another worker", "TaskAssigned", (event) => [{ ...event, worker: 1 } as LedgerEvent]],
      [
        "another reason",
        "TaskAssigned",
        (event) => [{ ...event, reason: { type: "LeastLoaded", queueDepth: 9 } } as LedgerEvent],
      ],
      ["another runner-up", "TaskAssigned", (event) => [{ ...event, runnerUp: 0 } as LedgerEvent]],
      ["a decision left out", "TaskAssigned", () => []],
      ["another time to try again", "TaskRetried", (event) => [{ ...event, dueAt: 999 } as LedgerEvent]],
      [
        "given up although it could be tried again",
        "TaskRetried",
        (event) => [{ ...event, kind: "TaskFailed", code: "attempts" } as LedgerEvent],
      ],
      ["another outcome", "RunEnded", (event) => [{ ...event, outcome: "cancelled" } as LedgerEvent]],
      ["an end too many", "RunEnded", (event) => [event, event]],
    ];
  test.each(changes)("%s", (_what, kind, change) => {
    const blocks = someLedger();
    const recorded = blocks.flatMap(eventsOf).filter(({ event }) => event.kind === kind);
    const { seq } = recorded.at(-1) ?? { seq: 0 };
    const forged = rewritten(blocks, seq, change);
    expect(findDifference(blocks)).toBeUndefined();
    expect(findDifference(forged)).toBe(change({ kind } as LedgerEvent).length > 1 ? seq + 1 : seq);
  });

  test("and so is one with an input that would have been refused", () => {
    const blocks = someLedger();
    const { seq } = blocks.at(-1) as Block;
    const stale: LedgerEvent = { kind: "DrainRequested", worker: 40 };
    expect(findDifference(rewritten(blocks, seq, (event) => [stale, event]))).toBe(seq);
  });
});

/** Two workers, a retry and the end of a run. */
function someLedger(): Block[] {
  const loop = new Loop();
  loop.turn(
    1,
    joins("a"),
    joins("b"),
    submits("r", [aNode("x", { maxAttempts: 2, backoffMs: 5 }), aNode("y")]),
  );
  loop.turn(2, loop.failed("r", "x"));
  loop.turn(7, loop.finished("r", "y"));
  loop.turn(8, loop.finished("r", "x"));
  return loop.blocks;
}

/** The same ledger with one event replaced, and all hashes after it made to match. */
function rewritten(
  blocks: readonly Block[],
  at: number,
  change: (event: LedgerEvent) => LedgerEvent[],
): Block[] {
  let head = GENESIS;
  return blocks.map((block) => {
    const writer = new BlockWriter();
    for (const { seq, event } of eventsOf(block)) {
      for (const one of seq === at ? change(event) : [event]) writer.add(one);
    }
    const sealed = writer.seal(head, block.epoch, block.now);
    head = headOf(sealed);
    return sealed;
  });
}

/** Verifies, which finds nothing, and decides again. */
function findDifference(blocks: readonly Block[]): number | undefined {
  const verifier = new ChainVerifier();
  const redecider = new Redecider();
  for (const block of blocks) {
    expect(verifier.accept(block.line)).toEqual(block);
    const seq = redecider.check(block);
    if (seq !== undefined) return seq;
  }
  return undefined;
}

function played(story: Play) {
  const loop = new Loop(story.config);
  const snapshots = [takeSnapshot(loop.state)];
  const hashes = [stateHash(loop.state)];
  perform(loop, story, ({ events }) => {
    if (events.length === 0) return;
    snapshots.push(takeSnapshot(loop.state));
    hashes.push(stateHash(loop.state));
  });
  expect(loop.blocks[0]?.prev).toBe(GENESIS.hash);
  expect(loop.blocks.length).toBe(snapshots.length);
  return { blocks: loop.blocks, state: loop.state, snapshots, hashes };
}

/** As it comes back from a file. */
function copied(snapshot: Snapshot): Snapshot {
  return JSON.parse(JSON.stringify(snapshot)) as Snapshot;
}

test("[P-15] forgotten workers stay so in a snapshot, and their names are there for what they ran", () => {
  const loop = new Loop({ keepLostWorkers: 1 });
  loop.turn(1, joins("a"), submits("r", [aNode("x")]));
  loop.turn(2, loop.finished("r", "x"));
  loop.turn(3, joins("b"), joins("c"));
  loop.turn(
    4,
    { kind: "WorkerLost", worker: 0, code: "left" },
    { kind: "WorkerLost", worker: 1, code: "left" },
  );
  loop.turn(5, joins("d"));
  expect(loop.state.fleet.known().map(({ id }) => id)).toEqual(["b", "c", "d"]);
  const restored = restore(takeSnapshot(loop.state));
  expect(stateHash(restored)).toBe(stateHash(loop.state));
  expect(restored.fleet.known().map(({ id }) => id)).toEqual(["b", "c", "d"]);
  expect(restored.worker(0).id).toBe("a");
  const replayed = new State();
  for (const block of loop.blocks) replayBlock(replayed, block);
  expect(stateHash(replayed)).toBe(stateHash(loop.state));
});
