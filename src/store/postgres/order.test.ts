import fc from "fast-check";
import pg from "pg";
import { expect, test } from "vitest";
import { blockOn, taskOf } from "../../../tests/any-rows.ts";
import { type TestDatabase, testDatabase } from "../../../tests/postgres.ts";
import { NO_CHANGES, QUEUED, type SubmittedTask } from "../rows.ts";
import { type ClassicConstants, claimByHrrn, indexWaiting, nextByClassic, nextByHrrn } from "./order.ts";
import { PostgresStore } from "./store.ts";

const NOW = 1_794_738_955_269;
const ROWS = 10_000;

const CLASSIC: ClassicConstants = {
  boostTierMicros: 10_000,
  maxBoostTiers: 2,
  ageStepMs: 60_000,
  ageEveryMs: 120_000,
  maxWaitMs: 600_000,
};

/** Waits and estimates as they are, some of them equal, and some whose ratios differ after twenty digits only. */
const anyTiming = fc.oneof(
  fc.record({
    wait: fc.integer({ min: 0, max: 3_600_000 }),
    estimateMs: fc.constantFrom(1, 5_000, 30_000, 600_000),
  }),
  fc.record({
    wait: fc.integer({ min: 0, max: 900_000 }),
    estimateMs: fc.integer({ min: 1, max: 1_000_000 }),
  }),
  fc.record({ wait: fc.constantFrom(0, 1, 60_000), estimateMs: fc.constantFrom(1, 2, 30_000) }),
  fc
    .record({
      base: fc.integer({ min: 900_000_000_000, max: 900_000_000_100 }),
      off: fc.integer({ min: 0, max: 3 }),
    })
    .map(({ base, off }) => ({ wait: base + off, estimateMs: base + 1 })),
);

const anyTask = fc.record({
  timing: anyTiming,
  priority: fc.integer({ min: 0, max: 4 }),
  boostMicros: fc.constantFrom(0, 9_999, 10_000, 20_000, 1_000_000),
  place: fc.constantFrom("alone", "alone", "alone", "alone", "in a run", "not due", "was due", "ended"),
});

type AnyTask = typeof anyTask extends fc.Arbitrary<infer T> ? T : never;

interface Waiting {
  readonly task: SubmittedTask;
  readonly readyAt: number;
}

function taskFrom({ timing, priority, boostMicros, place }: AnyTask, at: number): SubmittedTask {
  const readyAt = NOW - timing.wait;
  return taskOf(`t${(at * 7919) % ROWS}`, {
    priority,
    boostMicros,
    priorityClass: at % 3,
    estimateMs: timing.estimateMs,
    enqueuedAt: place === "was due" ? readyAt - 5_000 : readyAt,
    runAt: place === "not due" ? NOW + 1 : place === "was due" ? readyAt : -1,
    run: place === "in a run" ? { id: "r", node: "n" } : undefined,
  });
}

async function filled(database: TestDatabase, seed: number): Promise<Waiting[]> {
  const [drawn = []] = fc.sample(fc.array(anyTask, { minLength: ROWS, maxLength: ROWS, size: "max" }), {
    seed,
    numRuns: 1,
  });
  const tasks = drawn.map(taskFrom);
  await using store = await PostgresStore.open(database);
  const submitted = tasks.map((task, at) => ({
    task,
    progress:
      drawn[at]?.place === "ended" ? { ...QUEUED, status: "completed" as const, endedAt: NOW } : QUEUED,
  }));
  expect(await store.commit(blockOn(store.head), { ...NO_CHANGES, submitted })).toBe(true);
  return tasks
    .filter((task, at) => task.run === undefined && task.runAt <= NOW && drawn[at]?.place !== "ended")
    .map((task) => ({ task, readyAt: Math.max(task.enqueuedAt, task.runAt) }));
}

async function connected({ url, schema }: TestDatabase): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("select set_config('search_path', quote_ident($1), false)", [schema]);
  await indexWaiting(client);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

function byAge(a: Waiting, b: Waiting): number {
  return a.readyAt - b.readyAt || (a.task.id < b.task.id ? -1 : 1);
}

/** (waitA + estA) / estA against (waitB + estB) / estB, without dividing. */
function byHrrn(a: Waiting, b: Waiting): number {
  const [estimateA, estimateB] = [BigInt(a.task.estimateMs), BigInt(b.task.estimateMs)];
  const left = (BigInt(NOW - a.readyAt) + estimateA) * estimateB;
  const right = (BigInt(NOW - b.readyAt) + estimateB) * estimateA;
  return a.task.priorityClass - b.task.priorityClass || (left > right ? -1 : left < right ? 1 : byAge(a, b));
}

function classicTier({ task, readyAt }: Waiting, constants: ClassicConstants): number {
  const { boostTierMicros, maxBoostTiers, ageStepMs, ageEveryMs, maxWaitMs } = constants;
  const wait = NOW - readyAt;
  const steps = Math.floor(wait / ageStepMs);
  const boost = Math.min(Math.floor(task.boostMicros / boostTierMicros), maxBoostTiers);
  const tier = Math.max(0, task.priority - boost - Math.floor((steps * ageStepMs) / ageEveryMs));
  return wait > maxWaitMs ? Math.min(tier, 1) : tier;
}

function idsOf(waiting: readonly Waiting[]): string[] {
  return waiting.map(({ task }) => task.id);
}

test.each([1, 2, 3])(
  "[Q-09] [Q-10] SQL orders 10,000 tasks exactly as arithmetic does, seed %i",
  async (seed) => {
    const database = await testDatabase();
    const waiting = await filled(database, seed);
    await using client = await connected(database);
    expect(await nextByHrrn(client, NOW, ROWS)).toEqual(idsOf(waiting.toSorted(byHrrn)));
    expect(await nextByHrrn(client, NOW, 7)).toEqual(idsOf(waiting.toSorted(byHrrn)).slice(0, 7));
    // With slow ageing the longest wait comes to count.
    for (const constants of [CLASSIC, { ...CLASSIC, ageEveryMs: 7_200_000 }]) {
      const expected = waiting.toSorted(
        (a, b) => classicTier(a, constants) - classicTier(b, constants) || byAge(a, b),
      );
      expect(await nextByClassic(client, NOW, ROWS, constants)).toEqual(idsOf(expected));
    }
  },
);

test.each([4, 5])(
  "[Q-11] claims take exactly the first ones, whatever their number, seed %i",
  async (seed) => {
    const database = await testDatabase();
    const expected = idsOf((await filled(database, seed)).toSorted(byHrrn));
    await using client = await connected(database);
    let from = 0;
    for (const count of [1, 1, 2, 7, 32, 500, 1, 3_000, ROWS]) {
      expect(await claimByHrrn(client, NOW, count, "w1"), `${count} from ${from}`).toEqual(
        expected.slice(from, from + count),
      );
      from = Math.min(from + count, expected.length);
    }
    expect(await claimByHrrn(client, NOW, 1, "w1")).toEqual([]);
  },
);

test("[Q-11] claimers that run at once never get the same task, and together get the first ones", async () => {
  const database = await testDatabase();
  const expected = idsOf((await filled(database, 6)).toSorted(byHrrn));
  await using one = await connected(database);
  await using other = await connected(database);
  const claimAll = async (client: pg.Client, worker: string) => {
    const claimed: string[] = [];
    for (const count of [1, 5, 40, 3, 100, 17, 64, 1, 200])
      claimed.push(...(await claimByHrrn(client, NOW, count, worker)));
    return claimed;
  };
  const [ofOne, ofOther] = await Promise.all([claimAll(one, "w1"), claimAll(other, "w2")]);
  expect(new Set([...ofOne, ...ofOther]).size).toBe(862);
  expect([...ofOne, ...ofOther].sort()).toEqual(expected.slice(0, 862).sort());
});

test("[Q-11] a claim passes over what another is still claiming, and takes what comes next", async () => {
  const database = await testDatabase();
  const expected = idsOf((await filled(database, 7)).toSorted(byHrrn));
  await using one = await connected(database);
  await using other = await connected(database);
  await one.query("begin");
  expect(await claimByHrrn(one, NOW, 100, "w1")).toEqual(expected.slice(0, 100));
  expect(await claimByHrrn(other, NOW, 10, "w2")).toEqual(expected.slice(100, 110));
  await one.query("rollback");
  expect(await claimByHrrn(other, NOW, 100, "w2")).toEqual(expected.slice(0, 100));
});
