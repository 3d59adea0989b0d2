import fc from "fast-check";
import { expect, test } from "vitest";
import { anyDag } from "../../tests/any-graph.ts";
import { joins, Loop, submits, type Told } from "../../tests/builders.ts";
import { MIB } from "../../tests/data-play.ts";
import type { NodeSpec } from "../graph/index.ts";
import type { AttemptFinished } from "../ledger/index.ts";
import { isPlaced, Status } from "./index.ts";

/** Longer than what is given ahead, or waited for. */
const TOOK_MS = 100;

interface Batches {
  readonly nodes: readonly NodeSpec[];
  readonly slots: number;
  /** Of what runs, how many end before the next turn. */
  readonly sizes: readonly number[];
}

const anyBatches: fc.Arbitrary<Batches> = fc.record({
  nodes: anyDag(14, fc.constant({ keep: true })).map((nodes) =>
    nodes.map((node) => ({ ...node, inputs: [...new Set(node.needs)] })),
  ),
  slots: fc.integer({ min: 1, max: 4 }),
  sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 }),
});

function nodesOf(loop: Loop, is: (status: Status) => boolean): number[] {
  const run = loop.run("r");
  return [...run.status.keys()].filter((node) => is(run.statusOf(node)));
}

/** Plays a graph on one worker and looks at it after each turn, with what was launched in it. */
function play(
  { nodes, slots, sizes }: Batches,
  inOrder: (ended: number[]) => number[],
  look: (loop: Loop, launched: readonly number[]) => void,
): void {
  const loop = new Loop({ maxQueuePerWorker: 0 });
  const wide = { slots, cpuMillicores: 1_000_000, memoryBytes: 1_000_000 };
  look(loop, launchedIn(loop.turn(1, joins("w", wide), submits("r", nodes))));
  for (let turn = 1; loop.run("r").outcome === undefined; turn++) {
    const ended = nodesOf(loop, isPlaced).slice(0, sizes[turn % sizes.length]);
    const now = 1 + turn * TOOK_MS;
    look(loop, launchedIn(loop.turn(now, ...inOrder(ended).map((node) => finished(loop, node, now)))));
  }
}

function launchedIn({ events }: Told): number[] {
  return events.flatMap((event) => (event.kind === "TaskAssigned" ? [event.node] : []));
}

function finished(loop: Loop, node: number, now: number): AttemptFinished {
  const { graph } = loop.run("r");
  const report = loop.finished("r", graph.idOf(node), MIB, `${node}`);
  return { ...report, startedAt: now - TOOK_MS, costMicros: 0, held: true };
}

test("[D-02] ready nodes are launched up to the free slots until the result is there, in whatever order a batch ended", () => {
  fc.assert(
    fc.property(anyBatches, (batches) => {
      const [forth, back]: number[][][] = [[], []];
      play(
        batches,
        (ended) => ended,
        (loop, launched) => {
          forth?.push([...launched]);
          const isFull = nodesOf(loop, isPlaced).length === batches.slots;
          expect(isFull || nodesOf(loop, (status) => status === Status.ready).length === 0).toBe(true);
        },
      );
      play(
        batches,
        (ended) => ended.toReversed(),
        (_, launched) => back?.push([...launched]),
      );
      expect(back).toEqual(forth);
    }),
    { numRuns: 200, seed: 2 },
  );
});

test("[D-02] what has just been made is used before new data is made", () => {
  fc.assert(
    fc.property(anyBatches, (batches) => {
      play(
        batches,
        (ended) => ended,
        (loop, launched) => {
          const { graph } = loop.run("r");
          const makesNew = (node: number) => graph.inputsOf(node).length === 0;
          const waits = nodesOf(loop, (status) => status === Status.ready).filter((node) => !makesNew(node));
          const firstNew = launched.findIndex(makesNew);
          const lastUse = launched.findLastIndex((node) => !makesNew(node));
          expect(firstNew === -1 || (firstNew > lastUse && waits.length === 0)).toBe(true);
        },
      );
    }),
    { numRuns: 200, seed: 3 },
  );
});
