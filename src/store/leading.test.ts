import { describe, expect, test } from "vitest";
import { blockOn, endedAt, submitted, taskOf } from "../../tests/any-rows.ts";
import { testDatabase } from "../../tests/postgres.ts";
import { GENESIS } from "../ledger/index.ts";
import type { ServiceStore } from "./contract.ts";
import { MemoryStore } from "./memory.ts";
import { PostgresStore } from "./postgres/store.ts";
import { NO_CHANGES, type RowChanges } from "./rows.ts";

const STORES: Readonly<Record<string, () => Promise<ServiceStore>>> = {
  memory: async () => new MemoryStore(),
  postgres: async () => PostgresStore.open(await testDatabase()),
};

const ADA = { holder: "ada/1", url: "http://ada:2026" };
const BOB = { holder: "bob/1", url: "http://bob:2026" };

async function leadBy(store: ServiceStore, as: typeof ADA): Promise<void> {
  expect(await store.lead(await store.leadership(), as)).toBe(true);
}

describe.each(Object.entries(STORES))("[P-16] the %s store", (_, open) => {
  test("is led by nobody at first, then by who asked", async () => {
    await using store = await open();
    const nobody = await store.leadership();
    expect(nobody).toEqual({ ...GENESIS, holder: "", url: "", beat: 0 });
    expect(await store.beat()).toBe(false);
    expect(await store.lead(nobody, ADA)).toBe(true);
    expect(await store.leadership()).toMatchObject({ ...ADA, epoch: 1, seq: 0 });
    expect(store.head).toEqual({ ...GENESIS, epoch: 1 });
  });

  test("is not led by whoever saw an older head: after a leader, a beat or a commit", async () => {
    await using store = await open();
    const first = await store.leadership();
    await leadBy(store, ADA);
    expect(await store.lead(first, BOB)).toBe(false);
    const second = await store.leadership();
    expect(await store.beat()).toBe(true);
    expect(await store.lead(second, BOB)).toBe(false);
    const third = await store.leadership();
    expect(await store.commit(blockOn(store.head, 1))).toBe(true);
    expect(await store.lead(third, BOB)).toBe(false);
    expect(await store.leadership()).toMatchObject({ ...ADA, epoch: 1, seq: 1 });
    await leadBy(store, BOB);
    expect(await store.leadership()).toMatchObject({ ...BOB, epoch: 2, seq: 1 });
  });

  test("takes only blocks of the epoch that is led", async () => {
    await using store = await open();
    await leadBy(store, ADA);
    await leadBy(store, BOB);
    expect(await store.commit(blockOn(store.head, 1))).toBe(false);
    expect(await store.commit(blockOn(store.head, 3))).toBe(false);
    expect(await store.commit(blockOn(store.head, 2))).toBe(true);
    expect((await store.leadership()).seq).toBe(1);
  });

  test("is free after it was released, and beats no more", async () => {
    await using store = await open();
    await store.release();
    await leadBy(store, ADA);
    await store.release();
    expect(await store.leadership()).toMatchObject({ holder: "", url: "", epoch: 1 });
    expect(await store.beat()).toBe(false);
    await leadBy(store, BOB);
    expect(await store.leadership()).toMatchObject({ ...BOB, epoch: 2 });
  });

  test("knows its members by name", async () => {
    await using store = await open();
    expect(await store.members()).toEqual([]);
    const bob = { name: "bob", url: BOB.url, role: "follower", seq: 7 } as const;
    await store.saveMember({ ...bob, role: "starting", seq: 0 });
    await store.saveMember({ name: "ada", url: ADA.url, role: "leader", seq: 9 });
    await store.saveMember(bob);
    const members = await store.members();
    expect(members.map(({ name }) => name)).toEqual(["ada", "bob"]);
    expect(members[1]).toMatchObject(bob);
    expect(members[1]?.seenMsAgo).toBeGreaterThanOrEqual(0);
    expect(members[1]?.seenMsAgo).toBeLessThan(60_000);
    await store.removeMember("ada");
    expect(await store.members()).toHaveLength(1);
  });
});

describe("[P-16] two processes on one PostgreSQL", () => {
  async function two(): Promise<[ada: ServiceStore, bob: ServiceStore]> {
    const where = await testDatabase();
    return [await PostgresStore.open(where), await PostgresStore.open(where)];
  }

  test("of two who want to lead at the same moment, one does", async () => {
    const [ada, bob] = await two();
    await using _ada = ada;
    await using _bob = bob;
    for (let epoch = 1; epoch <= 20; epoch++) {
      const seen = await ada.leadership();
      const won = await Promise.all([ada.lead(seen, ADA), bob.lead(seen, BOB)]);
      expect(won.filter(Boolean)).toHaveLength(1);
      expect((await ada.leadership()).holder).toBe(won[0] ? ADA.holder : BOB.holder);
    }
  });

  test("a deposed leader commits nothing, and its beat says so", async () => {
    const [ada, bob] = await two();
    await using _ada = ada;
    await using _bob = bob;
    await leadBy(ada, ADA);
    expect(await ada.commit(blockOn(ada.head, 1))).toBe(true);
    await leadBy(bob, BOB);
    expect(await ada.commit(blockOn(ada.head, 1))).toBe(false);
    expect(await ada.beat()).toBe(false);
    expect(await bob.beat()).toBe(true);
    await ada.release();
    expect((await bob.leadership()).holder).toBe(BOB.holder);
    expect(await bob.commit(blockOn(bob.head, 2))).toBe(true);
    expect((await bob.leadership()).seq).toBe(2);
  });

  test("whatever rows a block has, it is refused with them when another leads", async () => {
    const [ada, bob] = await two();
    await using _ada = ada;
    await using _bob = bob;
    await leadBy(ada, ADA);
    expect(await ada.commit(blockOn(ada.head, 1), submitted(taskOf("t1")))).toBe(true);
    await leadBy(bob, BOB);
    const progressed = [{ id: "t1", progress: endedAt(100) }];
    const changes: RowChanges[] = [
      NO_CHANGES,
      submitted(taskOf("t2")),
      { ...NO_CHANGES, progressed },
      { ...submitted(taskOf("t2")), progressed },
    ];
    for (const rows of changes) {
      expect(await ada.commit(blockOn(ada.head, 1), rows)).toBe(false);
      expect(await ada.commit(blockOn(ada.head, 3), rows)).toBe(false);
    }
    expect(await bob.task("t2")).toBeUndefined();
    expect((await bob.task("t1"))?.status).toBe("queued");
    for (const rows of changes.slice(0, 3)) expect(await bob.commit(blockOn(bob.head, 2), rows)).toBe(true);
  });

  test("whoever does not lead cannot commit by a later epoch", async () => {
    const [ada, bob] = await two();
    await using _ada = ada;
    await using _bob = bob;
    await leadBy(ada, ADA);
    expect(await bob.commit(blockOn(bob.head, 2))).toBe(false);
    expect(await ada.commit(blockOn(ada.head, 1))).toBe(true);
  });
});

test("[P-16] a leader that computes shows that it lives, though not for ever", async () => {
  await using store = await PostgresStore.open(await testDatabase());
  expect(await store.lead(await store.leadership(), { ...ADA, leaseMs: 600 })).toBe(true);
  const begun = await store.leadership();
  const computeMs = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  let { beat } = begun;
  for (let tries = 0; tries < 60 && beat === begun.beat; tries++) {
    computeMs(500);
    ({ beat } = await store.leadership());
  }
  expect(beat).toBeGreaterThan(begun.beat);
  for (let tries = 0, before = -1; tries < 20 && before !== beat; tries++) {
    before = beat;
    computeMs(1_500);
    ({ beat } = await store.leadership());
    if (before === beat) return;
  }
  expect.unreachable("it beats for ever");
});
