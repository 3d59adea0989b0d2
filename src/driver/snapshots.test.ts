import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { GatedStore, oneNode, openDriver, settled, worker } from "../../tests/drivers.ts";
import { stateHash } from "../scheduler/index.ts";
import { MemoryStore, type SavedSnapshot } from "../store/index.ts";

/** Rings when it is told to, and not before. */
class MadeUpTimer {
  readonly #set = new Set<() => void>();

  readonly wake = (_delayMs: number, then: () => void): (() => void) => {
    this.#set.add(then);
    return () => void this.#set.delete(then);
  };

  ring(): void {
    const set = [...this.#set];
    this.#set.clear();
    for (const then of set) then();
  }
}

/** One is due after two events, at each rest that the timer tells; what was taken is told by its event. */
function takingSnapshots() {
  const store = new GatedStore();
  const taken: number[] = [];
  store.saveSnapshot = async ({ head }) => void taken.push(head.seq);
  const timer = new MadeUpTimer();
  const options = { snapshotEvery: 2, wake: timer.wake, pause: () => Promise.resolve() };
  return { store, taken, timer, options };
}

test("a snapshot that cannot be written, or makes no sense, is done without", async () => {
  class Unlucky extends MemoryStore {
    override async saveSnapshot(): Promise<void> {
      throw new Error("disk full");
    }
  }
  await using _ = await openDriver(new Unlucky());
  for (const state of [undefined, 5, {}, { seq: 1 }]) {
    const store = new MemoryStore();
    {
      await using first = await openDriver(store);
      await first.submit({ kind: "WorkerRegistered", worker });
    }
    await store.saveSnapshot({ head: store.head, stateHash: "", state });
    await using again = await openDriver(store);
    expect(again.state.seq).toBe(2);
  }
});

test("[P-15] a snapshot waits for a rest, but not for long", async () => {
  const { store, taken, timer, options } = takingSnapshots();
  await using driver = await openDriver(store, options);
  const register = async (n: number) => {
    await driver.submit({ kind: "WorkerRegistered", worker: { ...worker, id: `w${n}` } });
    await settled();
  };
  await register(0);
  expect(taken).toEqual([]);
  timer.ring();
  await settled();
  expect(taken).toEqual([2]);
  timer.ring();
  await settled();
  expect(taken).toEqual([2]);
  for (let n = 1; n <= 8; n++) await register(n);
  expect(taken).toEqual([2, 10]);
});

test("[P-15] a rest that something interrupts is none, however long that takes", async () => {
  const { store, taken, timer, options } = takingSnapshots();
  await using driver = await openDriver(store, options);
  await driver.submit({ kind: "WorkerRegistered", worker });
  await settled();
  store.gated = true;
  const submitted = driver.submit({ kind: "WorkerRegistered", worker: { ...worker, id: "w1" } });
  await settled();
  timer.ring();
  await settled();
  expect(taken).toEqual([]);
  store.gates[0]?.("commit");
  await submitted;
  await settled();
  timer.ring();
  await settled();
  expect(taken).toEqual([3]);
});

test("[P-15] of what was only submitted no snapshot is taken, and one is when most of it has ended", async () => {
  const { store, taken, timer, options } = takingSnapshots();
  await using driver = await openDriver(store, options);
  const rested = async () => {
    await settled();
    timer.ring();
    await settled();
    return taken.length;
  };
  const { graph } = oneNode;
  const many = {
    ...graph,
    ids: ["a", "b", "c", "d", "e"],
    spec: [0, 0, 0, 0, 0],
    needs: [[], [], [], [], []],
  };
  await driver.submit({ ...oneNode, runId: "r1", graph: many });
  expect(await rested()).toBe(0);
  const roomy = { ...worker, slots: 5, cpuMillicores: 5_000 };
  await driver.submit({ kind: "WorkerRegistered", worker: roomy });
  expect(await rested()).toBe(1);
});

test("[P-15] a long ledger is opened from its last snapshot, to the same state", async () => {
  const store = new MemoryStore();
  const size = 51_000;
  const graph = {
    ...oneNode.graph,
    ids: Array.from({ length: size }, (_, node) => `n${node}`),
    spec: new Array<number>(size).fill(0),
    needs: Array.from({ length: size }, () => []),
  };
  let hash: string;
  {
    await using driver = await openDriver(store, {
      onCommitted: (events) => {
        for (const event of events) {
          if (event.kind !== "TaskAssigned") continue;
          const { run, node, attempt } = event;
          void driver.submit({
            kind: "AttemptFinished",
            run,
            node,
            attempt,
            startedAt: 0,
            resultHash: "",
            resultBytes: 0,
          });
        }
        if (events.some((event) => event.kind === "RunEnded")) ended();
      },
    });
    let ended = (): void => {};
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    void driver.submit({
      kind: "WorkerRegistered",
      worker: { ...worker, cpuMillicores: 1_000_000, slots: 1000 },
    });
    await driver.submit({ ...oneNode, runId: "r1", graph });
    await end;
    await expect.poll(() => store.loadSnapshot(), { timeout: 20_000 }).toBeDefined();
    await driver.submit({ kind: "WorkerRegistered", worker: { ...worker, id: "w2" } });
    hash = stateHash(driver.state);
  }
  const snapshot = await store.loadSnapshot();
  expect(snapshot?.head.seq).toBeGreaterThan(100_000);
  expect(snapshot?.head.seq).toBeLessThan(store.head.seq);
  await using again = await openDriver(store);
  expect(stateHash(again.state)).toBe(hash);
});

test("[P-15] while there is something to do, the next part of a snapshot waits for a while", async () => {
  const pauses: (() => Promise<unknown>)[] = [];
  class Paused extends GatedStore {
    override async saveSnapshot(_: SavedSnapshot, pause?: () => Promise<unknown>): Promise<void> {
      if (pause) pauses.push(pause);
    }
  }
  const store = new Paused();
  const timer = new MadeUpTimer();
  await using driver = await openDriver(store, { snapshotEvery: 2, wake: timer.wake });
  await driver.submit({ kind: "WorkerRegistered", worker });
  await settled();
  timer.ring();
  await expect.poll(() => pauses.length).toBe(1);
  const pause = pauses[0] as () => Promise<unknown>;
  const ended: string[] = [];
  store.gated = true;
  const submitted = driver.submit({ kind: "WorkerRegistered", worker: { ...worker, id: "w2" } });
  await settled();
  await sleep(10);
  const [kept, noted] = [
    pause().then(() => ended.push("pause")),
    sleep(100).then(() => ended.push("100 ms")),
  ];
  await Promise.all([kept, noted]);
  expect(ended).toEqual(["100 ms", "pause"]);
  store.gates[0]?.("commit");
  await submitted;
  await sleep(10);
  void pause().then(() => ended.push("pause at rest"));
  await setImmediate();
  await setImmediate();
  expect(ended.slice(2)).toEqual(["pause at rest"]);
});
