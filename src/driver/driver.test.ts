import { expect, test } from "vitest";
import { GatedStore, oneNode, openDriver, settled, worker } from "../../tests/drivers.ts";
import type { Block, LedgerEvent } from "../ledger/index.ts";
import { DEFAULT_CONFIG, Redecider, stateHash } from "../scheduler/index.ts";
import { MemoryStore, type Store } from "../store/index.ts";
import { MAX_IN_FLIGHT } from "./in-flight.ts";
import { Projection } from "./projection.ts";

async function linesOf(store: Store): Promise<Block[]> {
  const blocks: Block[] = [];
  for await (const block of store.blocks()) blocks.push(block);
  return blocks;
}

test("stimuli of one moment are one turn and one block", async () => {
  const store = new MemoryStore();
  await using driver = await openDriver(store);
  await Promise.all([
    driver.submit({ kind: "WorkerRegistered", worker }),
    driver.submit({ ...oneNode, runId: "r1" }),
    driver.submit({ ...oneNode, runId: "r2" }),
  ]);
  expect(await linesOf(store)).toHaveLength(2);
});

test("a ledger that ends before its head does is not gone on with, and it is said where it ends", async () => {
  const store = new MemoryStore();
  await openDriver(store).then((driver) => driver[Symbol.asyncDispose]());
  await openDriver(store, { config: { ...DEFAULT_CONFIG, keepEndedRuns: 7 } }).then((driver) =>
    driver[Symbol.asyncDispose](),
  );
  const { seq } = store.head;
  const [first] = await linesOf(store);
  store.blocks = async function* () {
    if (first) yield first;
  };
  await expect(openDriver(store)).rejects.toMatchObject({
    code: "damaged",
    message: expect.stringContaining(`its head is event ${seq}, and its blocks end at ${seq - 1}`),
  });
});

test("stimuli that come while a block is being committed wait for the next turn, together", async () => {
  const store = new GatedStore();
  await using driver = await openDriver(store);
  store.gated = true;
  const first = driver.submit({ kind: "WorkerRegistered", worker });
  await settled();
  const others = [1, 2, 3].map((n) => driver.submit({ ...oneNode, runId: `r${n}` }));
  await settled();
  expect(store.gates).toHaveLength(1);
  store.gates.shift()?.("commit");
  await first;
  await settled();
  expect(store.gates).toHaveLength(1);
  store.gates.shift()?.("commit");
  await Promise.all(others);
  expect(await linesOf(store)).toHaveLength(3);
});

test("when many stimuli wait, their turn is decided and sent while the block before is committed", async () => {
  const store = new GatedStore();
  await using driver = await openDriver(store, { decideAheadFrom: 2 });
  store.gated = true;
  const first = driver.submit({ kind: "WorkerRegistered", worker });
  await settled();
  const others = driver.submitAll([1, 2].map((n) => ({ stimulus: { ...oneNode, runId: `r${n}` } })));
  await settled();
  expect([driver.state.runs.size, store.gates.length]).toEqual([2, 2]);
  let seen: number | undefined;
  const read = driver
    .read(({ runs }) => runs.size)
    .then((size) => {
      seen = size;
    });
  store.gates.shift()?.("commit");
  await first;
  await settled();
  // What was seen of the turn that was decided ahead is withheld, although the one before it is committed.
  expect([seen, store.gates.length]).toEqual([undefined, 1]);
  store.gates.shift()?.("commit");
  await Promise.all([others, read]);
  expect(seen).toBe(2);
});

test("a refused block takes the turn with it that was decided on top of it", async () => {
  const store = new GatedStore();
  await using driver = await openDriver(store, { decideAheadFrom: 1 });
  store.gated = true;
  const lost = expect(driver.submit({ kind: "WorkerRegistered", worker })).rejects.toThrow("another process");
  await settled();
  const ahead = expect(driver.submit({ ...oneNode, runId: "r1" })).rejects.toThrow("another process");
  await settled();
  const read = expect(driver.read(({ runs }) => runs.size)).rejects.toThrow("another process");
  store.gates.shift()?.("refuse");
  store.gates.shift()?.("commit");
  await Promise.all([lost, ahead, read]);
  expect(await linesOf(store)).toHaveLength(1);
});

test("so many turns are ahead of the store at most, and what they record takes effect in their order", async () => {
  const store = new GatedStore();
  const seen: (string | undefined)[] = [];
  await using driver = await openDriver(store, {
    decideAheadFrom: 1,
    onCommitted: (events) =>
      seen.push(...events.map((e) => (e.kind === "RunSubmitted" ? e.runId : undefined))),
  });
  store.gated = true;
  seen.length = 0;
  const answers: Promise<unknown>[] = [];
  for (let n = 0; n <= MAX_IN_FLIGHT; n++) {
    answers.push(driver.submit({ ...oneNode, runId: `r${n}` }));
    await settled();
  }
  expect([driver.state.runs.size, store.gates.length]).toEqual([MAX_IN_FLIGHT, MAX_IN_FLIGHT]);
  while (store.gates.length > 0) {
    expect(seen).toHaveLength(MAX_IN_FLIGHT + 1 - answers.length);
    store.gates.shift()?.("commit");
    await answers.shift();
    await settled();
  }
  expect([answers, seen]).toEqual([[], ["r0", "r1", "r2", "r3"]]);
});

test("[P-02] nothing is answered and nothing takes effect before its block is committed", async () => {
  const store = new GatedStore();
  const seen: LedgerEvent["kind"][] = [];
  await using driver = await openDriver(store, {
    onCommitted: (events) => seen.push(...events.map((e) => e.kind)),
  });
  store.gated = true;
  seen.length = 0;
  let answered = false;
  const answer = driver.submit({ kind: "WorkerRegistered", worker }).then(() => {
    answered = true;
  });
  await settled();
  expect({ answered, seen }).toEqual({ answered: false, seen: [] });
  store.gates.shift()?.("commit");
  await answer;
  expect(seen).toEqual(["WorkerRegistered"]);
});

test.each(["refuse", "throw"] as const)(
  "when a commit is not taken (%s), all that wait are told and nothing goes on",
  async (how) => {
    const store = new GatedStore();
    const failures: Error[] = [];
    await using driver = await openDriver(store, { onFailed: (error) => failures.push(error) });
    store.gated = true;
    const first = driver.submit({ kind: "WorkerRegistered", worker });
    const lost = expect(first).rejects.toThrow();
    await settled();
    const second = expect(driver.submit({ ...oneNode, runId: "r1" })).rejects.toThrow();
    store.gates.shift()?.(how);
    await Promise.all([lost, second]);
    expect(failures).toHaveLength(1);
    await expect(driver.submit({ ...oneNode, runId: "r2" })).rejects.toThrow(failures[0]);
  },
);

test("a retry that falls due wakes the scheduler by itself", async () => {
  const store = new MemoryStore();
  const assigned: number[] = [];
  await using driver = await openDriver(store, {
    onCommitted: (events) => {
      for (const event of events) if (event.kind === "TaskAssigned") assigned.push(event.attempt);
    },
  });
  void driver.submit({ kind: "WorkerRegistered", worker });
  await driver.submit({ ...oneNode, runId: "r1" });
  await driver.submit({
    kind: "AttemptFailed",
    run: 0,
    node: 0,
    attempt: 1,
    startedAt: 0,
    code: "exit",
    message: "",
  });
  expect(assigned).toEqual([1]);
  await expect.poll(() => assigned, { timeout: 5000 }).toEqual([1, 2]);
});

test("[P-15] a driver that opens a store has the state that the last one left, and its ledger decides the same again", async () => {
  const store = new MemoryStore();
  let hash: string;
  {
    await using driver = await openDriver(store);
    void driver.submit({ kind: "WorkerRegistered", worker });
    await driver.submit({ ...oneNode, runId: "r1" });
    hash = stateHash(driver.state);
  }
  await using again = await openDriver(store);
  expect(stateHash(again.state)).toBe(hash);
  await again.submit({ ...oneNode, runId: "r2" });
  const redecider = new Redecider();
  const blocks = await linesOf(store);
  expect(blocks.map((block) => redecider.check(block))).toEqual(blocks.map(() => undefined));
  expect(blocks.map((block) => block.epoch)).toEqual([1, 1, 2]);
});

test("a ledger that is ahead of the clock goes on from there, and what falls due is not late", async () => {
  const store = new MemoryStore();
  {
    await using ahead = await openDriver(store, { clock: () => Date.now() + 3_600_000 });
    void ahead.submit({ kind: "WorkerRegistered", worker });
    await ahead.submit({ ...oneNode, runId: "r1" });
  }
  const assigned: number[] = [];
  await using driver = await openDriver(store, {
    onCommitted: (events) => {
      for (const event of events) if (event.kind === "TaskAssigned") assigned.push(event.attempt);
    },
  });
  await driver.submit({
    kind: "AttemptFailed",
    run: 0,
    node: 0,
    attempt: 1,
    startedAt: 0,
    code: "exit",
    message: "",
  });
  await expect.poll(() => assigned, { timeout: 5000 }).toEqual([2]);
});

test("time never runs backwards, whatever the clock does", async () => {
  const store = new MemoryStore();
  const times = [5000, 5000, 4000, 100, 6000];
  await using driver = await openDriver(store, { clock: () => times.shift() ?? 6000 });
  for (const runId of ["r1", "r2", "r3"]) await driver.submit({ ...oneNode, runId });
  const nows = (await linesOf(store)).map((block) => block.now);
  expect(nows).toEqual(nows.toSorted((a, b) => a - b));
  expect(nows[0]).toBe(5000);
});

test("a clock that goes back after a turn that recorded nothing stops nobody", async () => {
  let now = 1_000;
  const config = { ...DEFAULT_CONFIG, order: "hrrn" } as const;
  await using driver = await openDriver(new MemoryStore(), {
    config,
    clock: () => now,
    wake: () => () => {},
  });
  await driver.submit({ ...oneNode, runId: "r1" });
  await driver.submit({ kind: "WorkerRegistered", worker: { ...worker, cpuMillicores: 1 } });
  now = 9_000;
  await driver.submit({ kind: "WorkerLoadReported", worker: 0, loadPermille: 1, saysOverloaded: false });
  now = 2_000;
  expect(await driver.submit({ ...oneNode, runId: "r2" })).toMatchObject({ accepted: true });
  expect(driver.state.now).toBe(9_000);
});

test("what fell due while no process ran is taken up without anything else happening", async () => {
  const store = new MemoryStore();
  let now = 1_000;
  const clock = () => now;
  const wakes: { readonly delayMs: number; readonly turn: () => void }[] = [];
  const wake = (delayMs: number, turn: () => void) => {
    wakes.push({ delayMs, turn });
    return () => {};
  };
  {
    await using driver = await openDriver(store, { clock, wake });
    await driver.submit({ kind: "WorkerRegistered", worker });
    await driver.submit({ ...oneNode, runId: "r1" });
    const attempt = { run: 0, node: 0, attempt: 1, startedAt: now };
    await driver.submit({ kind: "AttemptFailed", ...attempt, code: "exit", message: "" });
  }
  now += 5_000;
  wakes.length = 0;
  const again: string[] = [];
  await using _ = await openDriver(store, {
    clock,
    wake,
    onCommitted: (events) => again.push(...events.map(({ kind }) => kind)),
  });
  expect(wakes.map(({ delayMs }) => delayMs)).toEqual([1]);
  wakes[0]?.turn();
  await settled();
  expect(again).toEqual(["TaskAssigned"]);
});

/** Lets everything run that does not wait for the outside. */
test("a turn takes no more than a block should hold, and what repeats a key by the thousands is answered", async () => {
  const sizes: number[] = [];
  const store = new MemoryStore();
  const commit = store.commit.bind(store);
  store.commit = (block, rows) => {
    sizes.push(rows?.submitted.length ?? 0);
    return commit(block, rows);
  };
  await using driver = await openDriver(store, { recorder: new Projection(store) });
  const payload = JSON.stringify("x".repeat(1_000_000));
  const submission = (id: string, key?: string) =>
    driver.submit(
      {
        kind: "TaskSubmitted",
        id,
        agent: "a",
        zone: "z",
        spec: ["noop", "local", 0, 0, 1000, 2, [], 1, 0, 0, 0],
        requestState: "pending",
        boostMicros: 0,
        deadline: -1,
        runAt: -1,
        requestHash: "",
        attempts: 0,
      },
      {
        type: "task",
        payload: key === undefined ? payload : "{}",
        settings: "{}",
        key: key === undefined ? undefined : { zone: "z", agent: "a", key, taskId: id, bodyHash: "h" },
      },
    );
  const large = await Promise.all(Array.from({ length: 100 }, (_, at) => submission(`large ${at}`)));
  expect(large.every(({ accepted }) => accepted)).toBe(true);
  expect(Math.max(...sizes)).toBeLessThan(40);
  const same = await Promise.all(Array.from({ length: 20_000 }, (_, at) => submission(`same ${at}`, "key")));
  expect(same.filter((answer) => "repeats" in answer)).toHaveLength(19_999);
  expect(driver.state.singles.all.size).toBe(101);
});

test("[G-11] a turn is made at least so often, though nothing happens", async () => {
  const delays: number[] = [];
  const turns: (() => void)[] = [];
  const wake = (delayMs: number, turn: () => void) => {
    delays.push(delayMs);
    turns.push(turn);
    return () => {};
  };
  let now = 1_000;
  await using _ = await openDriver(new MemoryStore(), { clock: () => now, wake, lookEveryMs: 30_000 });
  await settled();
  now += delays.at(-1) ?? 0;
  turns.at(-1)?.();
  await settled();
  expect(delays).toEqual([30_000, 30_000]);
});
