import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, test, vi } from "vitest";
import { blockOn, submitted, taskOf } from "../../../tests/any-rows.ts";
import { Cuttable } from "../../../tests/cuttable.ts";
import { type TestDatabase, testDatabase, testDataDir } from "../../../tests/postgres.ts";
import { type Block, GENESIS, headOf } from "../../ledger/index.ts";
import { type Embedded, openEmbedded } from "../embedded/cluster.ts";
import { findPostmaster } from "../embedded/postmaster.ts";
import { Outage } from "./outage.ts";
import { PostgresStore } from "./store.ts";

/** Commits blocks, each with a task of its own, until it is told to stop; so many are under way at once. */
async function commitUntil(store: PostgresStore, isDone: () => boolean, inFlight = 1): Promise<Block[]> {
  const acknowledged: Block[] = [];
  const underWay: Promise<unknown>[] = [];
  let tip = store.head;
  while (!isDone()) {
    const block = blockOn(tip);
    tip = headOf(block);
    underWay.push(commitTask(store, block).then(() => acknowledged.push(block)));
    if (underWay.length >= inFlight) await underWay.shift();
  }
  await Promise.all(underWay);
  return acknowledged;
}

async function commitTask(store: PostgresStore, block: Block): Promise<void> {
  const { seq } = block;
  expect(await store.commit(block, submitted(taskOf(`t${seq}`, { submittedSeq: seq })))).toBe(true);
}

/** Blocks that build on each other. */
function blocksOn(store: PostgresStore, count: number): Block[] {
  const blocks = [blockOn(store.head)];
  while (blocks.length < count) blocks.push(blockOn(headOf(blocks.at(-1) as Block)));
  return blocks;
}

/** What is stored is exactly what was acknowledged. Reading the blocks checks their chain. */
async function expectStored(store: PostgresStore, acknowledged: readonly Block[]): Promise<void> {
  const lines: string[] = [];
  for await (const { line } of store.blocks()) lines.push(line);
  expect(lines).toEqual(acknowledged.map(({ line }) => line));
  const tasks = await store.tasks({ zone: "main" }, undefined, 1_000_000);
  expect(tasks.map(({ id }) => id).reverse()).toEqual(acknowledged.map(({ seq }) => `t${seq}`));
}

test.each([1, 3])(
  "[Q-18] connections that are killed amid %i commits lose no block and double none",
  async (inFlight) => {
    const database = await testDatabase();
    await using store = await PostgresStore.open(database);
    const killer = new pg.Client({ connectionString: database.url });
    await killer.connect();
    let isDone = false;
    const committing = commitUntil(store, () => isDone, inFlight);
    let kills = 0;
    while (kills < 30) {
      const { rowCount } = await killer.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'orrery' and state = 'active'",
      );
      kills += rowCount ?? 0;
      await sleep(rowCount ? 30 : 1);
    }
    isDone = true;
    await expectStored(store, await committing);
    await killer.end();
  },
);

test("[Q-18] a PostgreSQL that is killed amid commits and started again has lost no block and doubled none", async () => {
  const dataDir = await testDataDir();
  let embedded: Embedded = await openEmbedded({ dataDir });
  const troubles: string[] = [];
  await using store = await PostgresStore.open({
    url: embedded.url,
    onTrouble: (message) => troubles.push(message),
  });
  let isDone = false;
  const committing = commitUntil(store, () => isDone, 3);
  for (let kills = 0; kills < 4; kills++) {
    const { seq } = store.head;
    while (store.head.seq < seq + 6) await sleep(5);
    await sleep(37 * kills);
    process.kill((await findPostmaster(join(dataDir, "postgres")))?.pid ?? 0, "SIGKILL");
    await embedded[Symbol.asyncDispose]();
    embedded = await openEmbedded({ dataDir });
  }
  const { seq } = store.head;
  while (store.head.seq === seq) await sleep(10);
  isDone = true;
  const acknowledged = await committing;
  expect(acknowledged.length).toBeGreaterThan(20);
  await expectStored(store, acknowledged);
  // Once for each outage, or less where it passed before it was noticed.
  expect(troubles.length).toBeLessThanOrEqual(4);
  await store[Symbol.asyncDispose]();
  await embedded[Symbol.asyncDispose]();
});

test("[Q-18] commits go on by themselves when the private PostgreSQL is killed", async () => {
  const dataDir = await testDataDir();
  await using embedded = await openEmbedded({ dataDir });
  await using store = await PostgresStore.open({ url: embedded.url });
  let isDone = false;
  const committing = commitUntil(store, () => isDone);
  await sleep(200);
  process.kill((await findPostmaster(join(dataDir, "postgres")))?.pid ?? 0, "SIGKILL");
  await sleep(100);
  const { seq } = store.head;
  await expect.poll(() => store.head.seq, { timeout: 10_000 }).toBeGreaterThan(seq);
  isDone = true;
  await expectStored(store, await committing);
});

test.each(["question", "answer"] as const)(
  "[Q-18] a commit that loses its %s is found to be there once, with its rows",
  async (cut) => {
    const { url, schema } = await testDatabase();
    await using way = await Cuttable.to(url);
    const troubles: string[] = [];
    await using store = await PostgresStore.open({
      url: way.url,
      schema,
      onTrouble: (message) => troubles.push(message),
    });
    const first = blockOn(store.head);
    expect(await store.commit(first, submitted(taskOf("t1")))).toBe(true);
    way.cut = cut;
    const second = blockOn(store.head);
    expect(await store.commit(second, submitted(taskOf("t2", { submittedSeq: 2 })))).toBe(true);
    expect(way.cut).toBe("never");
    expect(troubles).toHaveLength(1);
    await expectStored(store, [first, second]);
  },
);

test.each(["question", "answer"] as const)(
  "[Q-18] commits that follow one that loses its %s are found to be there once, after it",
  async (cut) => {
    const { url, schema } = await testDatabase();
    await using way = await Cuttable.to(url);
    await using store = await PostgresStore.open({ url: way.url, schema });
    const [first, ...others] = blocksOn(store, 4) as [Block, ...Block[]];
    await commitTask(store, first);
    way.cut = cut;
    await Promise.all(others.map((block) => commitTask(store, block)));
    expect(way.cut).toBe("never");
    await expectStored(store, [first, ...others]);
  },
);

/** Makes commits of tasks take a second. */
async function slowDown({ url, schema }: TestDatabase): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    set search_path to "${schema}";
    create function dawdle() returns trigger language plpgsql
      as $$ begin perform pg_sleep(1); return null; end $$;
    create trigger dawdle after insert on submissions execute function dawdle();`);
  await client.end();
}

test("a commit whose connection is cut while it is under way is found to be there once", async () => {
  const database = await testDatabase();
  await using way = await Cuttable.to(database.url);
  const troubles: string[] = [];
  const onTrouble = (message: string) => void troubles.push(message);
  await using store = await PostgresStore.open({ ...database, url: way.url, onTrouble });
  await slowDown(database);
  const block = blockOn(store.head);
  const committing = commitTask(store, block);
  await sleep(300);
  way.cutNow();
  await committing;
  expect(troubles).toHaveLength(1);
  await expectStored(store, [block]);
});

test("a commit that is cancelled while another follows it is sent again, and so is the other", async () => {
  const database = await testDatabase();
  await using store = await PostgresStore.open(database);
  await slowDown(database);
  const blocks = blocksOn(store, 2);
  const committing = Promise.all(blocks.map((block) => commitTask(store, block)));
  await sleep(300);
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  const { rowCount } = await admin.query(
    "select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'orrery' and state = 'active'",
  );
  expect(rowCount).toBe(1);
  await committing;
  await expectStored(store, blocks);
  await admin.end();
});

test("a commit that takes longer than it is waited for is found to be there once", async () => {
  const database = await testDatabase();
  const troubles: string[] = [];
  await using store = await PostgresStore.open({
    ...database,
    url: `${database.url}&query_timeout=400`,
    onTrouble: (message) => troubles.push(message),
  });
  await slowDown(database);
  const block = blockOn(store.head);
  await commitTask(store, block);
  expect(troubles).toHaveLength(1);
  await expectStored(store, [block]);
});

test("a commit that loses its answer and was built on meanwhile is still known to be there", async () => {
  const { url, schema } = await testDatabase();
  await using way = await Cuttable.to(url);
  await using store = await PostgresStore.open({ url: way.url, schema });
  await using other = await PostgresStore.open({ url, schema });
  const first = blockOn(store.head);
  way.onCut = async () => {
    const head = await other.refresh();
    expect(head).toEqual(headOf(first));
    expect(await other.commit(blockOn(head, 2))).toBe(true);
  };
  way.cut = "answer";
  expect(await store.commit(first)).toBe(true);
  expect(await store.commit(blockOn(store.head))).toBe(false);
  expect(await store.refresh()).toEqual(other.head);
});

test("a commit that is lost on its way while another moves the head is refused", async () => {
  const { url, schema } = await testDatabase();
  await using way = await Cuttable.to(url);
  await using store = await PostgresStore.open({ url: way.url, schema });
  await using other = await PostgresStore.open({ url, schema });
  way.onCut = async () => {
    expect(await other.commit(blockOn(other.head, 2))).toBe(true);
  };
  way.cut = "question";
  expect(await store.commit(blockOn(store.head), submitted(taskOf("t1")))).toBe(false);
  expect(await store.task("t1")).toBeUndefined();
});

test("of two stores on one database one loses every race, and writes nothing", async () => {
  const database = await testDatabase();
  await using one = await PostgresStore.open(database);
  await using other = await PostgresStore.open(database);
  for (let round = 0; round < 50; round++) {
    const head = await one.refresh();
    const results = await Promise.all([
      one.commit(blockOn(head, 2 * round + 1), submitted(taskOf(`one ${round}`))),
      other.commit(blockOn(head, 2 * round + 2), submitted(taskOf(`other ${round}`))),
    ]);
    expect(results.filter(Boolean), `round ${round}`).toEqual([true]);
    const winner = results[0] ? "one" : "other";
    expect(await one.task(`${winner} ${round}`)).toBeDefined();
  }
  expect(await one.tasks({ zone: "main" }, undefined, 1_000)).toHaveLength(50);
  let blocks = 0;
  for await (const _ of one.blocks()) blocks++;
  expect(blocks).toBe(50);
});

test("a commit that PostgreSQL stopped keeping safe on a standby is not acknowledged until it is safe", async () => {
  await using embedded = await openEmbedded({ dataDir: await testDataDir() });
  const troubles: string[] = [];
  await using store = await PostgresStore.open({
    url: embedded.url,
    onTrouble: (message) => troubles.push(message),
  });
  const admin = new pg.Client({ connectionString: embedded.url });
  await admin.connect();
  const waitForStandby = async (name: string) => {
    await admin.query(`alter system set synchronous_standby_names = '${name}'`);
    await admin.query("select pg_reload_conf()");
    await sleep(100);
  };
  await waitForStandby("nobody");
  let isAcknowledged = false;
  const committing = store.commit(blockOn(store.head)).then((result) => {
    isAcknowledged = true;
    return result;
  });
  for (let cancelled = 0; cancelled < 2; ) {
    const { rowCount } = await admin.query(
      "select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'orrery' and wait_event = 'SyncRep'",
    );
    cancelled += rowCount ?? 0;
    await sleep(20);
  }
  expect(isAcknowledged).toBe(false);
  expect(troubles).toEqual([expect.stringContaining("standbys")]);
  await waitForStandby("");
  expect(await committing).toBe(true);
  await admin.end();
});

test("an outage is told of once, then at growing distances, and when all can go on", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const told: string[] = [];
  const tell = (message: string) => void told.push(message);
  const outage = new Outage({ onTrouble: tell, onRecovery: tell, closed: new AbortController().signal });
  outage.failed("reads", "refused", false);
  vi.advanceTimersByTime(500);
  outage.passed("reads");
  expect(told).toEqual([]);
  for (let second = 0; second < 600; second++) {
    outage.failed("reads", "refused", false);
    vi.advanceTimersByTime(1_000);
  }
  outage.failed("commits", "refused", true);
  outage.passed("reads");
  outage.passed("commits");
  vi.useRealTimers();
  expect(told.map((message) => message.replace("PostgreSQL: refused; ", ""))).toEqual([
    "trying again until it is there",
    ...[61, 181, 421].map((seconds) => `not there for ${seconds} s`),
    "PostgreSQL is there again, after 600 s",
  ]);
});

test("reads wait out a restart, and what waits is let go when the store is closed", async () => {
  const dataDir = await testDataDir();
  let embedded: Embedded = await openEmbedded({ dataDir });
  const store = await PostgresStore.open({ url: embedded.url });
  await store.commit(blockOn(store.head), submitted(taskOf("t1")));
  await embedded[Symbol.asyncDispose]();
  expect(await store.isReachable()).toBe(false);
  const reading = store.task("t1");
  embedded = await openEmbedded({ dataDir });
  expect((await reading)?.id).toBe("t1");
  await embedded[Symbol.asyncDispose]();
  const waiting = [store.task("t1"), store.commit(blockOn(store.head))];
  const outcomes = Promise.allSettled(waiting);
  await sleep(50);
  await store[Symbol.asyncDispose]();
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  }
  await expect(store.commit(blockOn(store.head))).rejects.toMatchObject({ code: "unavailable" });
});

test("a store is closed within seconds when the database no longer answers", async () => {
  const database = await testDatabase();
  await using way = await Cuttable.to(database.url);
  const store = await PostgresStore.open({ ...database, url: way.url });
  await store.commit(blockOn(store.head));
  way.freeze();
  const outcomes = Promise.allSettled([store.task("t1"), store.commit(blockOn(store.head))]);
  await sleep(50);
  const startedMs = performance.now();
  await store[Symbol.asyncDispose]();
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  }
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});

test("what another process commits is seen, and is not built on", async () => {
  const database = await testDatabase();
  await using one = await PostgresStore.open(database);
  await using other = await PostgresStore.open(database);
  expect(await other.commit(blockOn(other.head))).toBe(true);
  expect(await one.refresh()).toEqual(other.head);
  expect(one.head).toEqual(GENESIS);
  expect(await one.commit(blockOn(one.head))).toBe(false);
});

test("[Q-13] commits that submit something wake those who listen, once for many", async () => {
  const database = await testDatabase();
  await using store = await PostgresStore.open(database);
  const listener = new pg.Client({ connectionString: database.url });
  await listener.connect();
  let heard = 0;
  listener.on("notification", ({ channel }) => {
    if (channel === "task_enqueued") heard++;
  });
  await listener.query("listen task_enqueued");
  await store.commit(blockOn(store.head));
  await sleep(50);
  expect(heard).toBe(0);
  const startedMs = performance.now();
  for (let at = 0; at < 20; at++) await store.commit(blockOn(store.head), submitted(taskOf(`t${at}`)));
  const tookMs = performance.now() - startedMs;
  await sleep(200);
  expect(heard).toBeGreaterThanOrEqual(1);
  expect(heard).toBeLessThanOrEqual(2 + tookMs / 5);
  await listener.end();
});
