// Whatever is asked of a past moment is answered as it would have been then.

import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import type { Block, TaskAssigned } from "../src/ledger/index.ts";
import { REJECTIONS } from "../src/placement/index.ts";
import { apply, eventsOf, State } from "../src/scheduler/index.ts";
import type { Caller, Reading } from "../src/server/api.ts";
import { Checkpoints } from "../src/server/past/checkpoints.ts";
import { PastLedger } from "../src/server/past/past-ledger.ts";
import { ROW_STATUSES } from "../src/store/index.ts";
import { GOLDEN } from "./scenarios.mjs";
import { goldenBlocks, readerUpTo, STREAM_KEY, simulatedBlocks } from "./told-ledger.ts";

/** Of those that tell much. */
const SEEDS = [2, 6, 10, 12];
/** Few enough that some are thinned out. */
const MOST_BYTES = 200_000;
const ledgers = new Map<string, readonly Block[]>();

beforeAll(async () => {
  for (const version of GOLDEN) ledgers.set(version, goldenBlocks(version));
  for (const seed of SEEDS) ledgers.set(`seed ${seed}`, await simulatedBlocks(seed));
});

function pastOf(blocks: readonly Block[]): PastLedger {
  const past = new PastLedger({ backend: "memory", streamKey: STREAM_KEY }, new Checkpoints(20, MOST_BYTES));
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
    tasks.push(
      await reading.run(caller, id),
      await reading.runPlan(caller, id),
      await reading.runGraph(caller, id),
      await reading.runNodes(caller, id, undefined),
    );
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
    queues: await reading.queues(caller),
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
  "runGraph",
  "runNodes",
  "metrics",
  "workers",
  "agents",
  "limits",
  "queues",
] as const satisfies readonly (keyof Reading)[];

function readingAt(past: PastLedger, at: number): Pick<Reading, (typeof ASKED)[number]> {
  const method =
    (name: keyof Reading) =>
    (...args: unknown[]) =>
      past.read({ at, method: name, args, brought: undefined });
  return Object.fromEntries(ASKED.map((name) => [name, method(name)])) as never;
}

test("[P-15] a past moment is answered as a ledger that ended there, in whatever order moments are asked for", async () => {
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

test("[P-11] the best of the candidates that are found again is the worker that was chosen, and as many were rejected", () => {
  let ranked = 0;
  for (const [name, blocks] of ledgers) {
    const past = pastOf(blocks);
    const state = new State();
    for (const { seq, now, event } of blocks.flatMap((block) => eventsOf(block))) {
      if (event.kind === "TaskAssigned" && (name.startsWith("v") || seq % 5 === 0)) {
        const tasks = state.tasks(event.run);
        const caller = adminOf(tasks.zoneOf(event.node));
        const found = past.placement(seq, caller, tasks.taskIdOf(event.node), event.attempt);
        const candidates = found?.candidates ?? [];
        expect(candidates[0]?.worker, `${name} at ${seq}`).toBe(state.worker(event.worker).id);
        if (isRanked(state, event)) {
          ranked++;
          expect(candidates[0]?.rank, `${name} at ${seq}`).toBe(1);
          expect(candidates.find(({ rank }) => rank === 2)?.worker).toBe(
            state.fleet.workers[event.runnerUp]?.id,
          );
          // Workers of other zones are told to nobody: what speaks against them comes first.
          const rejected = REJECTIONS.map(
            (code) => candidates.filter(({ rejection }) => rejection === code).length,
          );
          expect(rejected.slice(2)).toEqual(REJECTIONS.map((_, code) => event.rejected[code] ?? 0).slice(2));
        }
      }
      apply(state, event, now);
    }
  }
  expect(ranked).toBeGreaterThan(200);
});

/** Whether it went to the first of all candidates: for those who make roots and followers data decides. */
function isRanked(state: State, { run, node, reason }: TaskAssigned): boolean {
  const data = state.runs.get(run)?.data;
  return !data || (!data.territories.isRoot(node) && reason.type !== "Affinity");
}
