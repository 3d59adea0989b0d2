import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Leadership, MemoryStore, StoreError } from "../store/index.ts";
import { leadOrRefuse, untilLeading } from "./candidate.ts";
import { Lookout } from "./lookout.ts";

const ADA = { holder: "ada/1", url: "http://ada:2026" };
const BOB = { holder: "bob/1", url: "http://bob:2026" };
const LEASE_MS = 300;

async function ledByAda(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.lead(await store.leadership(), ADA);
  return store;
}

/** Beats as a leader does, until it is told to stop. */
function beating(store: MemoryStore): () => void {
  const timer = setInterval(() => void store.beat(), LEASE_MS / 10);
  return () => clearInterval(timer);
}

test("[P-16] a store that nobody leads is led at once, and one that was released as well", async () => {
  const store = new MemoryStore();
  const started = performance.now();
  const long = { store, isShared: true, leaseMs: 60_000 };
  const first = await untilLeading({ ...long, as: ADA });
  expect(first?.epoch).toBe(1);
  await first?.release();
  const second = await untilLeading({ ...long, as: BOB });
  expect(second?.epoch).toBe(2);
  expect(await store.leadership()).toMatchObject(BOB);
  await second?.release();
  expect(performance.now() - started).toBeLessThan(60_000);
});

test("[P-16] a holder that is silent is waited for, for a lease; in a store of our own nobody is", async () => {
  const store = await ledByAda();
  const started = performance.now();
  const term = await untilLeading({ store, isShared: true, leaseMs: LEASE_MS, as: BOB });
  expect(performance.now() - started).toBeGreaterThanOrEqual(LEASE_MS);
  expect(term?.epoch).toBe(2);
  await term?.release();
  const own = await untilLeading({ store: await ledByAda(), isShared: false, leaseMs: 3_600_000, as: BOB });
  expect(own?.epoch).toBe(2);
  expect(own?.isCertain).toBe(true);
});

test("[P-16] a holder that beats is followed for as long as it does", async () => {
  const store = await ledByAda();
  const stop = beating(store);
  const giveUp = new AbortController();
  let isAliveSeen = false;
  const following = untilLeading({
    store,
    isShared: true,
    leaseMs: 20 * LEASE_MS,
    as: BOB,
    signal: giveUp.signal,
    onFollowed: (_, isAlive) => {
      isAliveSeen ||= isAlive;
    },
  });
  await expect.poll(() => isAliveSeen, { timeout: 30_000 }).toBe(true);
  giveUp.abort();
  expect(await following).toBeUndefined();
  expect((await store.leadership()).epoch).toBe(1);
  stop();
});

test("[P-16] whoever has stepped down lets others lead first", async () => {
  const store = new MemoryStore();
  const started = performance.now();
  const term = await untilLeading({ store, isShared: true, leaseMs: LEASE_MS, as: ADA, standsBack: true });
  expect(performance.now() - started).toBeGreaterThanOrEqual(LEASE_MS);
  await term?.release();
});

test("[P-16] a program leads after a leader that is dead, and refuses where one lives", async () => {
  const dead = await leadOrRefuse({ store: await ledByAda(), isShared: true, leaseMs: LEASE_MS, as: BOB });
  expect(dead.epoch).toBe(2);
  await dead.release();
  const store = await ledByAda();
  const stop = beating(store);
  const refused = leadOrRefuse({ store, isShared: true, leaseMs: 20 * LEASE_MS, as: BOB });
  await expect(refused).rejects.toMatchObject({ code: "locked" });
  await expect(refused).rejects.toThrow("ada/1 at http://ada:2026 leads this store");
  stop();
});

test("[P-16] while a store cannot be read, nobody counts as silent", async () => {
  const head: Leadership = await (await ledByAda()).leadership();
  let isAway = false;
  let failedMs = 0;
  const store = {
    leadership: async () => {
      if (!isAway) return head;
      failedMs = performance.now();
      throw new StoreError("unavailable", "away");
    },
  };
  const patiences: [patienceMs: number, sinceFailedMs: number][] = [];
  using lookout = new Lookout({
    store,
    leaseMs: LEASE_MS,
    onSeen: () => {
      if (failedMs > 0) patiences.push([lookout.patienceMs, performance.now() - failedMs]);
    },
  });
  await sleep(LEASE_MS / 2);
  isAway = true;
  await expect.poll(() => failedMs, { timeout: 30_000 }).toBeGreaterThan(0);
  await sleep(LEASE_MS);
  isAway = false;
  await expect.poll(() => patiences.length, { timeout: 30_000 }).toBeGreaterThan(0);
  const [patienceMs, sinceFailedMs] = patiences[0] ?? [0, 0];
  expect(patienceMs).toBeGreaterThanOrEqual(LEASE_MS - sinceFailedMs - 1);
});
