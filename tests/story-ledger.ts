// A ledger in a file for tests of the commands that read one: a story in which everything happens that a
// ledger can tell.

import { stateHash, takeSnapshot } from "../src/scheduler/index.ts";
import { FileStore } from "../src/store/index.ts";
import { aNode, joins, Loop, submits } from "./builders.ts";

const MIB = 2 ** 20;

/** Writes the blocks of a loop, with the head beside them. */
export async function writeLedger(loop: Loop, path: string): Promise<string> {
  await using store = await FileStore.open(path);
  for (const block of loop.blocks) await store.commit(block);
  return path;
}

/** Saves the loop's present state as the snapshot beside a ledger, as a server would. */
export async function writeSnapshot(loop: Loop, path: string): Promise<void> {
  await using store = await FileStore.open(path);
  await store.saveSnapshot({
    head: loop.head,
    stateHash: stateHash(loop.state),
    state: takeSnapshot(loop.state),
  });
}

/**
 * Two runs. In "nightly", `test` fails once and is tried again, a worker is lost with `lint` on it and comes
 * back, `deploy` fails for good and `announce` is skipped. "morning" is still going on: `big` fits nowhere for
 * now, `held` waits for a person, `gpu` can never run.
 */
export function tellStory(until: "half" | "end" = "end"): Loop {
  const loop = new Loop({ maxQueuePerWorker: 1, reserveAfterMs: 1_000 });
  const worker = { cpuMillicores: 4_000, memoryBytes: 512 * MIB, slots: 2 };
  loop.turn(
    1_000,
    joins("worker-1", worker),
    joins("worker-2", worker),
    joins("tiny", { memoryBytes: 16 * MIB }),
  );
  const small = { cpuMillicores: 1_000, memoryBytes: 64 * MIB };
  loop.turn(
    2_000,
    submits(
      "run-1",
      [
        aNode("fetch", { ...small, estimateMs: 900 }),
        aNode("build", { ...small, needs: ["fetch"] }),
        aNode("lint", { ...small, needs: ["fetch"], maxAttempts: 2 }),
        aNode("test", { ...small, needs: ["build"], maxAttempts: 2, backoffMs: 400 }),
        aNode("deploy", { ...small, needs: ["test", "lint"] }),
        aNode("announce", { ...small, needs: ["deploy"] }),
      ],
      { name: "nightly" },
    ),
  );
  loop.turn(2_900, { ...loop.finished("run-1", "fetch", 10), startedAt: 2_040 });
  loop.turn(3_100, { ...loop.started("run-1", "build"), startedAt: 3_000 });
  loop.turn(4_300, { ...loop.finished("run-1", "build"), startedAt: 3_000 });
  if (until === "half") return loop;
  loop.turn(5_000, loop.failed("run-1", "test"));
  const lost = loop.state.fleet.known().find(({ id }) => id === "worker-2")?.number ?? -1;
  loop.turn(5_100, { kind: "WorkerLost", worker: lost, code: "lease" });
  loop.turn(5_400);
  loop.turn(6_000, joins("worker-2", worker));
  loop.turn(6_500, { ...loop.finished("run-1", "lint"), startedAt: -1 });
  loop.turn(6_800, { ...loop.finished("run-1", "test"), startedAt: 5_450 });
  loop.turn(7_500, { ...loop.failed("run-1", "deploy"), message: "exit code 1: no route to host" });
  loop.turn(
    8_000,
    submits(
      "run-2",
      [
        aNode("load", { ...small, cpuMillicores: 2_000 }),
        aNode("scan", { ...small, cpuMillicores: 2_000 }),
        aNode("big", { cpuMillicores: 4_000, memoryBytes: 500 * MIB, estimateMs: 100 }),
        aNode("held", { ...small, held: true }),
        aNode("gpu", { ...small, capabilities: ["cuda"] }),
        aNode("last", { ...small, needs: ["load", "big"], estimateMs: 10 }),
      ],
      { name: "morning" },
    ),
  );
  loop.turn(9_100);
  return loop;
}
