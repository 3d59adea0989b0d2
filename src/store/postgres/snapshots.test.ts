import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import pg from "pg";
import { expect, test } from "vitest";
import { blockOn, submitted, taskOf } from "../../../tests/any-rows.ts";
import { testDatabase } from "../../../tests/postgres.ts";
import { type Block, BlockWriter, type Head } from "../../ledger/index.ts";
import { chunksOf, textsOf } from "./snapshots.ts";
import { PostgresStore } from "./store.ts";

function largeBlock(head: Head): Block {
  const writer = new BlockWriter();
  const agent = "a".repeat(9 << 20);
  writer.add({ kind: "SubmissionsRefused", agent, code: "backlog", count: 1 });
  return writer.seal(head, 1, 1000 + head.seq);
}

test("texts are cut into parts that make them up, and no character is cut", () => {
  const texts = fc.array(fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(texts, fc.integer({ min: 2, max: 9 }), (some, length) => {
      const chunks = [...chunksOf(some, length)];
      expect(chunks.join("")).toBe(some.join(""));
      for (const chunk of chunks) {
        expect(chunk.isWellFormed()).toBe(true);
        expect(chunk.length).toBeLessThanOrEqual(length);
      }
    }),
  );
});

test("the parts that an object is written in make up its JSON", () => {
  const short = fc.array(fc.array(fc.jsonValue({ maxDepth: 1 })), { maxLength: 5 });
  const long = short.map((items) => Array.from({ length: 1_001 }, () => items).flat());
  const members = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined), short, long);
  fc.assert(
    fc.property(fc.dictionary(fc.string(), members), (value) => {
      expect([...textsOf(value)].join("")).toBe(JSON.stringify(value));
    }),
    { seed: 1, numRuns: 200 },
  );
});

test("a large state is saved in parts and read back, and an older one does not replace it", async () => {
  await using store = await PostgresStore.open(await testDatabase());
  const older = store.head;
  await store.commit(blockOn(store.head));
  const state = { text: 'a"🚀\\\u0000'.repeat(1_500_000) };
  await store.saveSnapshot({ head: store.head, stateHash: "h", state });
  await store.saveSnapshot({ head: older, stateHash: "late", state: {} });
  const loaded = await store.loadSnapshot();
  expect(loaded?.head).toEqual(store.head);
  expect(JSON.stringify(loaded?.state) === JSON.stringify(state)).toBe(true);
});

test("[Q-18] a connection that ends while a snapshot pauses is made anew, and the snapshot with it", async () => {
  const database = await testDatabase();
  await using store = await PostgresStore.open(database);
  await store.commit(blockOn(store.head));
  const killer = new pg.Client({ connectionString: database.url });
  await killer.connect();
  let kills = 0;
  const pause = async () => {
    if (kills > 0) return;
    const { rowCount } = await killer.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'orrery' and state = 'idle in transaction'",
    );
    kills += rowCount ?? 0;
    // The news of it comes by itself.
    await sleep(100);
  };
  const state = { text: "a".repeat(3_000_000) };
  await store.saveSnapshot({ head: store.head, stateHash: "h", state }, pause);
  expect(kills).toBe(1);
  expect((await store.loadSnapshot())?.state).toEqual(state);
  await killer.end();
});

test("blocks that are larger than a page are read one by one, in order", async () => {
  await using store = await PostgresStore.open(await testDatabase());
  for (let at = 0; at < 3; at++) await store.commit(largeBlock(store.head));
  const seqs: number[] = [];
  for await (const { seq } of store.blocks()) seqs.push(seq);
  expect(seqs).toEqual([1, 2, 3]);
});

test("the character 0, which PostgreSQL cannot hold, is shown by its picture", async () => {
  await using store = await PostgresStore.open(await testDatabase());
  await store.commit(blockOn(store.head), submitted(taskOf("t1", { type: "a\0b" })));
  expect((await store.task("t1"))?.type).toBe("a\u2400b");
  await store.appendLogs([{ taskId: "t1", attempt: 1, line: 1, at: 1, stream: "log", text: "a\0b\ud800c" }]);
  expect((await store.logs("t1", 0, 10))[0]?.text).toBe("a\u2400b\ufffdc");
});

test("blocks that someone changed or removed are found out", async () => {
  const database = await testDatabase();
  await using store = await PostgresStore.open(database);
  for (let at = 0; at < 3; at++) await store.commit(blockOn(store.head));
  const damage = async (text: string) => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`set search_path = "${database.schema}"; ${text}`);
    await client.end();
  };
  const read = async () => {
    for await (const _ of store.blocks());
  };
  await damage("update blocks set line = replace(line, '1001', '1002') where seq = 2");
  await expect(read()).rejects.toMatchObject({
    code: "damaged",
    message: expect.stringContaining("event 2"),
  });
  await damage("delete from blocks where seq = 2");
  await expect(read()).rejects.toMatchObject({
    code: "damaged",
    message: expect.stringContaining("event 2"),
  });
});
