import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../../tests/builders.ts";
import { simulatedBlocks } from "../../../tests/simulated.ts";
import type { Alteration } from "../../scheduler/index.ts";
import { PastLedger } from "./past-ledger.ts";
import type { WhatIfView } from "./what-if.ts";

type Told = Extract<WhatIfView, { readonly unknownWorkers: undefined }>;

function pastOf(blocks: Loop["blocks"]): PastLedger {
  const past = new PastLedger({ backend: "memory", streamKey: Buffer.alloc(32, 7) });
  for (const block of blocks) past.add(block);
  return past;
}

function asked(past: PastLedger, at: number, ...alterations: readonly Alteration[]): Told {
  const view = past.whatIf({ at, zone: "here", alterations, isActual: true, listed: 100 });
  expect(view.unknownWorkers).toBeUndefined();
  return view as Told;
}

/** Six nodes that were estimated at a second and took three, on a worker with two slots. */
function told(): { readonly past: PastLedger; readonly at: number } {
  const loop = new Loop({ fairShare: null, order: "graph" });
  const room = { cpuMillicores: 8000, memoryBytes: 8000 };
  const ids = ["a", "b", "c", "d", "e", "f"];
  loop.turn(1000, joins("w", { slots: 2, ...room }));
  loop.turn(
    1000,
    submits(
      "r",
      ids.map((id) => aNode(id, { estimateMs: 1000 })),
    ),
  );
  const at = loop.state.seq;
  for (let first = 0; first < ids.length; first += 2)
    loop.turn(
      4000 + 1500 * first,
      ...ids
        .slice(first, first + 2)
        .map((id) => ({ ...loop.finished("r", id), startedAt: 1000 + 1500 * first })),
    );
  expect(loop.run("r").outcome).toBe("completed");
  return { past: pastOf(loop.blocks), at };
}

test("[P-15] played as it was, everything takes as long as it did and goes where it went", () => {
  const { past, at } = told();
  const view = asked(past, at, { kind: "more-workers", like: "w", count: 2 });
  expect(view).toMatchObject({ now: 1000, isWhole: true, leftOut: {} });
  expect(view.asIs).toMatchObject({ ended: 6, makespanMs: 9000, utilisation: 1 });
  expect(view.changed).toMatchObject({ ended: 6, makespanMs: 3000 });
  expect(view.moved).toMatchObject({ total: 4, sooner: 4, later: 0, elsewhere: 4 });
  const [most] = view.moved.tasks;
  expect([most?.before?.startedAt, most?.after?.startedAt]).toEqual([7000, 1000]);
});

test("[P-15] from a later moment on, only what was left then goes otherwise", () => {
  const { past } = told();
  const last = past.lastAt(4000);
  expect(asked(past, last, { kind: "slots", worker: "w", slots: 4 }).moved.total).toBe(2);
  expect(asked(past, last, { kind: "without-worker", worker: "w" }).changed).toMatchObject({
    ended: 0,
    unfinished: 4,
  });
});

test("[P-15] an event in the middle of a turn stands for the end of it", () => {
  const loop = new Loop({ fairShare: null, order: "graph" });
  loop.turn(
    1000,
    joins("w", { slots: 1, cpuMillicores: 8000, memoryBytes: 8000 }),
    submits("r", [aNode("a")]),
  );
  const before = loop.state.seq;
  loop.turn(2000, loop.failed("r", "a"));
  const past = pastOf(loop.blocks);
  expect(loop.state.seq).toBeGreaterThan(before + 1);
  expect(asked(past, before + 1)).toEqual(asked(past, loop.state.seq));
});

test("[P-15] a worker that is not there at that moment is named", () => {
  const { past, at } = told();
  const alterations = [{ kind: "without-worker", worker: "nobody" } as const];
  const view = past.whatIf({ at, zone: "here", alterations, isActual: true, listed: 1 });
  expect(view).toEqual({ unknownWorkers: ["nobody"] });
});

test("[P-15] with nothing changed nothing moves, in any ledger and at any moment, and every change can be played", async () => {
  const past = pastOf(await simulatedBlocks(6));
  for (const at of [Math.floor(past.lastSeq / 3), past.lastSeq]) {
    const { asIs, changed, moved } = asked(past, at);
    expect(changed).toEqual(asIs);
    expect(moved.total).toBe(0);
    for (const alteration of ALTERATIONS) expect(asked(past, at, alteration).asIs).toEqual(asIs);
  }
});

const ALTERATIONS: readonly Alteration[] = [
  { kind: "settings", settings: { strategy: "random", order: "classic", maxQueuePerWorker: 3 } },
  { kind: "priority", of: { zone: "here", type: "build" }, priority: 0 },
  { kind: "agent-limit", zone: "here", agent: "ann", max: 1 },
  { kind: "limit", zone: "here", name: "openai", max: 1 },
];
