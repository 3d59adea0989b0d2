// Whatever is asked of a past moment is answered as it would have been then.

import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Block, TaskAssigned } from "../src/ledger/index.ts";
import { REJECTIONS } from "../src/placement/index.ts";
import { eventsOf } from "../src/scheduler/index.ts";
import type { Caller, Reading } from "../src/server/api.ts";
import { PastLedger } from "../src/server/past/past-ledger.ts";
import { ROW_STATUSES } from "../src/store/index.ts";
import { goldenBlocks, readerUpTo, SECRET, simulatedBlocks } from "./told-ledger.ts";

const SEEDS = [1, 2, 3, 4, 5, 6];
const ledgers = new Map<string, readonly Block[]>();

beforeAll(async () => {
  for (const version of ["v1", "v2", "v3", "v4"]) ledgers.set(version, goldenBlocks(version));
  for (const seed of SEEDS) ledgers.set(`seed ${seed}`, await simulatedBlocks(seed));
});

function pastOf(blocks: readonly Block[]): PastLedger {
  const past = new PastLedger({ backend: "memory", streamSecret: SECRET });
  for (const block of blocks) past.add(block);
  return past;
}

function adminOf(zone: string): Caller {
  return { keyId: "k", zone, agent: "admin", scopes: new Set(["operator", "admin"]), isZoneAdmin: true };
}

function zonesIn(blocks: readonly Block[]): string[] {
  const zones = blocks
    .flatMap((block) => eventsOf(block))
    .flatMap(({ event }) =>
      event.kind === "TaskSubmitted" || event.kind === "RunSubmitted" ? [event.zone] : [],
    );
  return [...new Set(zones)];
}

/** Everything that a caller can look at, but what only the process knew. */
async function answersOf(reading: Pick<Reading, (typeof ASKED)[number]>, caller: Caller): Promise<unknown> {
  const { activity: _, ...overview } = await reading.overview(caller);
  const lists = [];
  for (const status of ROW_STATUSES)
    lists.push(await reading.tasks(caller, { statuses: [status] }, undefined, 5));
  lists.push(await reading.tasks(caller, { type: "build" }, undefined, 5));
  const { items } = await reading.tasks(caller, {}, undefined, 100);
  const tasks = [];
  for (const { id } of items.slice(0, 20))
    tasks.push(
      await reading.task(caller, id),
      await reading.why(caller, id),
      await reading.history(caller, id),
    );
  const runs = await reading.runs(caller, undefined, 5);
  for (const { id } of runs.items)
    tasks.push(await reading.run(caller, id), await reading.runPlan(caller, id));
  return {
    overview,
    lists,
    items,
    tasks,
    runs,
    metrics: await reading.metrics(caller),
    workers: await reading.workers(caller),
    agents: await reading.agents(caller),
    limits: await reading.limits(caller),
  };
}

const ASKED = [
  "overview",
  "tasks",
  "task",
  "why",
  "history",
  "run",
  "runs",
  "runPlan",
  "metrics",
  "workers",
  "agents",
  "limits",
] as const satisfies readonly (keyof Reading)[];

function readingAt(past: PastLedger, at: number): Pick<Reading, (typeof ASKED)[number]> {
  const method =
    (name: keyof Reading) =>
    (...args: unknown[]) =>
      past.read({ at, method: name, args, brought: undefined });
  return Object.fromEntries(ASKED.map((name) => [name, method(name)])) as never;
}

test("[W-11] a past moment is answered as a ledger that ended there, in whatever order moments are asked for", async () => {
  for (const [name, blocks] of ledgers) {
    const past = pastOf(blocks);
    const zones = zonesIn(blocks);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: past.lastSeq }),
        fc.constantFrom(...zones),
        async (at, zone) => {
          const caller = adminOf(zone);
          const then = await answersOf(await readerUpTo(blocks, at), caller);
          expect(await answersOf(readingAt(past, at), caller), `${name} at ${at}`).toEqual(then);
        },
      ),
      { numRuns: 8 },
    );
  }
});

test("[W-11] the best of the candidates that are found again is the worker that was chosen", async () => {
  let placements = 0;
  for (const [name, blocks] of ledgers) {
    const past = pastOf(blocks);
    for (const { seq, event } of blocks.flatMap((block) => eventsOf(block))) {
      if (event.kind !== "TaskAssigned" || seq % 3 !== 0) continue;
      const [entry] = past.entries({
        after: seq - 1,
        before: undefined,
        limit: 1,
        kinds: [],
        taskId: undefined,
      });
      const { taskId = "", zone = "" } = entry ?? {};
      const found = past.placement(seq, adminOf(zone), taskId, event.attempt);
      const [best, next] = found?.candidates ?? [];
      placements++;
      expect([name, seq, best?.worker], `${name} at ${seq}`).toEqual([name, seq, entry?.workerId]);
      if (event.runnerUp >= 0) expect(next?.worker).toBe(found?.runnerUp);
    }
  }
  expect(placements).toBeGreaterThan(500);
});
void describe;
void REJECTIONS;

export type { TaskAssigned };
