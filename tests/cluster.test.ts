import { expect, test } from "vitest";
import type { LedgerEvent } from "../src/ledger/index.ts";
import { apply, eventsOf, Redecider, State } from "../src/scheduler/index.ts";
import { PostgresStore } from "../src/store/postgres/store.ts";
import { type FaultPlan, type FaultReport, runFaults } from "./cluster.ts";

/**
 * `CLUSTER=long npx vitest run tests/cluster.test.ts` takes some minutes, on a machine that has nothing else to do.
 * `WAITING=100000` also makes servers carry so many tasks from one to the next.
 */
const isLong = process.env["CLUSTER"] === "long";
const SHORT: FaultPlan = {
  kills: 3,
  stops: 3,
  submitsPerS: 100,
  leaseMs: 1000,
  pauseMs: 500,
  waiting: 0,
  seed: 16,
};
const LONG: FaultPlan = {
  kills: 10,
  stops: 10,
  submitsPerS: 500,
  leaseMs: 3000,
  pauseMs: 1500,
  waiting: Number(process.env["WAITING"] ?? 0),
  seed: 4711,
};

test("[P-16] a leader that is killed or stands still is taken over, and nothing is lost or done twice", {
  timeout: isLong ? 1_800_000 : 240_000,
}, async () => {
  const plan = isLong ? LONG : SHORT;
  const report = await runFaults(plan);
  try {
    if (isLong) tell(report, plan);
    expect(report.faults).toHaveLength(plan.kills + plan.stops);
    expect(report.acknowledged.size).toBeGreaterThan(100);
    expect([...report.acknowledged.values()].every((times) => times === 1)).toBe(true);
    // A busy machine may take its time; the long run is for one that is not.
    const allowedMs = plan.leaseMs + (isLong ? 1_500 : 30_000);
    for (const { servedMs } of report.faults) expect(servedMs).toBeLessThan(allowedMs);
    await checkLedger(report, plan);
  } finally {
    await report.close();
  }
});

async function checkLedger({ acknowledged, storeUrl }: FaultReport, plan: FaultPlan): Promise<void> {
  await using store = await PostgresStore.open({ url: storeUrl });
  const redecider = new Redecider();
  const shadow = new State();
  const finished = new Map<string, number>();
  let epoch = 0;
  // Reading the blocks verifies their chain.
  for await (const block of store.blocks()) {
    expect(block.epoch, `the epoch of block ${block.seq}`).toBeGreaterThanOrEqual(epoch);
    epoch = block.epoch;
    expect(redecider.check(block), `block ${block.seq} is decided again`).toBeUndefined();
    for (const { event, now } of eventsOf(block)) {
      noteFinished(shadow, event, finished);
      apply(shadow, event, now);
    }
  }
  expect(epoch).toBeGreaterThan(plan.kills + plan.stops);
  expect([...finished.values()].every((times) => times === 1)).toBe(true);
  for (const id of acknowledged.keys()) expect(finished.has(id), `${id} was acknowledged`).toBe(true);
  expect(shadow.singles.all.size).toBe(plan.waiting);
}

function noteFinished(state: State, event: LedgerEvent, finished: Map<string, number>): void {
  if (event.kind !== "AttemptFinished") return;
  const id = state.tasks(event.run).taskIdOf(event.node);
  finished.set(id, (finished.get(id) ?? 0) + 1);
}

function tell({ faults, submitsPerS, acknowledged }: FaultReport, { leaseMs }: FaultPlan): void {
  const lines = faults.map(
    ({ kind, ledMs, servedMs }) => `${kind}\t${Math.round(ledMs)}\t${Math.round(servedMs)}`,
  );
  process.stderr.write(
    `lease ${leaseMs} ms, ${acknowledged.size} submissions, ${submitsPerS.toFixed(0)} per second\n` +
      `fault\tled\tserved, ms after it\n${lines.join("\n")}\n`,
  );
}
