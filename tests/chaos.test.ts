import { expect, test } from "vitest";
import { Projection } from "../src/driver/index.ts";
import type { LedgerEvent } from "../src/ledger/index.ts";
import { apply, eventsOf, Redecider, State } from "../src/scheduler/index.ts";
import { PostgresStore } from "../src/store/postgres/store.ts";
import { type ChaosReport, runChaos } from "./chaos.ts";

/** `CHAOS=long npx vitest run tests/chaos.test.ts` kills more. */
const isLong = process.env["CHAOS"] === "long";
const KILLS = isLong ? { server: 20, postgres: 10, worker: 50 } : { server: 7, postgres: 4, worker: 17 };
const PLAN = {
  clients: 8,
  workers: 4,
  serverKills: KILLS.server,
  postgresKills: KILLS.postgres,
  workerKills: KILLS.worker,
  seed: 4711,
};

test("[Q-18] [Q-19] nothing is lost when server, database and workers are killed at random moments", {
  timeout: 240_000,
}, async () => {
  const report = await runChaos(PLAN);
  try {
    expect(report.kills).toEqual(KILLS);
    expect(report.acknowledged.size).toBeGreaterThan(isLong ? 200 : 70);
    expect(new Set(report.acknowledged.values()).size).toBe(report.acknowledged.size);
    expect(Math.max(...report.recoveriesMs)).toBeLessThan(10_000);
    await checkLedger(report);
  } finally {
    await report.close();
  }
});

async function checkLedger({ acknowledged, storeUrl, completions }: ChaosReport): Promise<void> {
  await using store = await PostgresStore.open({ url: storeUrl });
  const redecider = new Redecider();
  const shadow = new State();
  const projection = new Projection({ keyed: async () => [], task: async () => undefined });
  const finished = new Map<string, number>();
  const rows = new Map<string, Record<string, unknown>>();
  for await (const block of store.blocks()) {
    expect(redecider.check(block), `block ${block.seq} is decided again`).toBeUndefined();
    for (const { event, now } of eventsOf(block)) {
      noteFinished(shadow, event, finished);
      projection.note(shadow, event, now, undefined);
      apply(shadow, event, now);
    }
    const { submitted, progressed } = projection.take();
    for (const { task, progress } of submitted) rows.set(task.id, { ...task, ...progress });
    for (const { id, progress } of progressed) rows.set(id, { ...rows.get(id), ...progress });
  }
  // Every acknowledged task ends exactly once, none is lost, none is there twice.
  expect([...finished.values()].every((times) => times === 1)).toBe(true);
  expect(new Set(finished.keys())).toEqual(new Set(acknowledged.keys()));
  for (const n of acknowledged.values()) expect(completions.get(n) ?? 0).toBeGreaterThanOrEqual(1);
  // Nothing runs any more, so nobody's share is used.
  expect(shadow.shares.toSnapshot().running).toEqual([]);
  expect(shadow.singles.all.size).toBe(0);
  // The tables are what the ledger says, but for payloads and results, which it knows by their hash.
  expect(rows.size).toBe(acknowledged.size);
  for (const [id, row] of rows) {
    const stored = await store.task(id);
    const { payload: _, settings: __, result: ___, ...kept } = stored ?? {};
    const { payload: ____, settings: _____, result: ______, ...expected } = row;
    expect(kept).toEqual(expected);
  }
}

function noteFinished(state: State, event: LedgerEvent, finished: Map<string, number>): void {
  if (event.kind !== "AttemptFinished") return;
  const id = state.tasks(event.run).taskIdOf(event.node);
  finished.set(id, (finished.get(id) ?? 0) + 1);
}
