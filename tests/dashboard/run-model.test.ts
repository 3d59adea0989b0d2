import fc from "fast-check";
import { expect, test } from "vitest";
import {
  pannedTime,
  type TimeScale,
  ticksOf,
  xOf,
  zoomedTime,
} from "../../dashboard/src/parts/picture/time-scale.ts";
import { criticalPath } from "../../dashboard/src/screens/run/critical-path.ts";
import { csvOf, type NodeRecord } from "../../dashboard/src/screens/run/node-records.ts";
import { estimateMsOf, type RunShape, shapeFrom } from "../../dashboard/src/screens/run/shape.ts";
import {
  NODE_STATUSES,
  type Standing,
  standingFrom,
  withChanges,
} from "../../dashboard/src/screens/run/standing.ts";
import type { RunNodesAnswer } from "../../src/protocol/api-schemas.ts";

const MAX = 12;
const COMPLETED = NODE_STATUSES.indexOf("completed");

/** Nodes need only those before them. */
const anyRun = fc
  .array(
    fc.record({
      estimate: fc.integer({ min: 1, max: 9 }),
      needs: fc.array(fc.nat(MAX), { maxLength: 3 }),
      ended: fc.nat(1000),
    }),
    { minLength: 1, maxLength: MAX },
  )
  .chain((nodes) => fc.record({ nodes: fc.constant(nodes), done: fc.nat(nodes.length) }))
  .map(({ nodes, done }) => {
    const edges = nodes.flatMap(({ needs }, node) =>
      [...new Set(needs.filter((need) => need < node))].flatMap((need) => [need, node]),
    );
    const shape = shapeFrom({
      run_id: "",
      nodes: nodes.map((_, node) => `n${node}`),
      kinds: nodes.map(({ estimate }) => ({ task_type: "t", executor: "e", estimate })),
      kind: nodes.map((_, node) => node),
      edges,
      handed: null,
      parent: null,
    });
    // What is done comes before the rest, as it must.
    const isDone = (node: number) => node < done;
    return { shape, standing: standingOf(nodes.length, isDone, (node) => nodes[node]?.ended ?? 0), done };
  });

function answerOf(nodes: number[] | null, size: number): RunNodesAnswer {
  const fill = (value: number) => new Array<number>(size).fill(value);
  return {
    run_id: "",
    at: new Date(0).toISOString(),
    next: "x",
    nodes,
    statuses: [...NODE_STATUSES],
    status: fill(0),
    attempt: fill(0),
    started: fill(-1),
    ended: fill(-1),
    workers: [],
    worker: fill(-1),
    bytes: fill(0),
    errors: [],
    tried: [],
    added: [],
  };
}

function standingOf(
  size: number,
  isDone: (node: number) => boolean,
  endOf: (node: number) => number,
): Standing {
  const answer = answerOf(null, size);
  for (let node = 0; node < size; node++) {
    if (!isDone(node)) continue;
    answer.status[node] = COMPLETED;
    answer.ended[node] = endOf(node);
  }
  return standingFrom(answer);
}

/** The longest chain of what is open that begins with a node, by trying all. */
function longestMs(shape: RunShape, isOpen: (node: number) => boolean, node: number): number {
  if (!isOpen(node)) return 0;
  const behind = [...shape.dependents.of(node)].map((next) => longestMs(shape, isOpen, next));
  return estimateMsOf(shape, node) + Math.max(0, ...behind);
}

test("[G-02] what holds up the end of a run is the longest chain that remains, and before it what was waited for last", () => {
  fc.assert(
    fc.property(anyRun, ({ shape, standing, done }) => {
      const path = criticalPath(shape, standing);
      const isOpen = (node: number) => node >= done;
      const open = path.filter(isOpen);
      const all = [...shape.ids.keys()].map((node) => longestMs(shape, isOpen, node));
      expect(open.reduce((sum, node) => sum + estimateMsOf(shape, node), 0)).toBe(Math.max(0, ...all));
      for (let at = 1; at < path.length; at++) {
        const [before, node] = [path[at - 1] as number, path[at] as number];
        expect([...shape.needs.of(node)]).toContain(before);
        if (isOpen(node) && isOpen(before)) continue;
        const ends = [...shape.needs.of(node)].map((need) => standing.ended[need] as number);
        expect(standing.ended[before]).toBe(Math.max(...ends));
      }
      if (done < shape.size || path.length === 0) return;
      expect(standing.ended[path.at(-1) as number]).toBe(Math.max(...standing.ended));
    }),
  );
});

test("what changed, put onto what was known, is what is told as a whole", () => {
  const anyChange = fc.record({
    node: fc.nat(4),
    status: fc.nat(NODE_STATUSES.length - 1),
    started: fc.integer({ min: -1, max: 99 }),
    worker: fc.constantFrom("", "a", "b", "c"),
  });
  fc.assert(
    fc.property(fc.array(fc.uniqueArray(anyChange, { selector: ({ node }) => node })), (rounds) => {
      let standing = standingFrom(answerOf(null, 5));
      const known = new Map<number, (typeof rounds)[number][number]>();
      for (const changes of rounds) {
        const answer = answerOf(
          changes.map(({ node }) => node),
          changes.length,
        );
        answer.workers = [...new Set(changes.map(({ worker }) => worker).filter((name) => name !== ""))];
        for (const [at, change] of changes.entries()) {
          known.set(change.node, change);
          answer.status[at] = change.status;
          answer.started[at] = change.started;
          answer.worker[at] = answer.workers.indexOf(change.worker);
        }
        standing = withChanges(standing, answer, answer.nodes ?? undefined);
      }
      for (const [node, { status, started, worker }] of known) {
        expect([standing.status[node], standing.started[node]]).toEqual([status, started]);
        expect(standing.workers[standing.worker[node] ?? -1] ?? "").toBe(worker);
      }
    }),
  );
});

test("what is under the pointer stays there while it is zoomed, and nothing leaves the limits", () => {
  const limits = [0, 100_000] as const;
  const anyScale = fc
    .tuple(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 10, max: 10_000 }))
    .map(([from, span]): TimeScale => ({ from, to: from + span, left: 50, width: 800 }));
  fc.assert(
    fc.property(
      anyScale,
      fc.integer({ min: 50, max: 850 }),
      fc.double({ min: 1, max: 8, noNaN: true }),
      (scale, x, by) => {
        const at = scale.from + ((x - 50) / 800) * (scale.to - scale.from);
        const near = zoomedTime(scale, by, x, limits);
        expect(Math.abs(xOf(near, at) - x)).toBeLessThan(1e-3);
        for (const one of [near, zoomedTime(scale, 1 / by, x, limits), pannedTime(scale, by * 300, limits)]) {
          expect(one.from).toBeGreaterThanOrEqual(-1e-6);
          expect(one.to).toBeLessThanOrEqual(limits[1] + 1e-6);
        }
        const { at: ticks, stepMs } = ticksOf(scale, 84, 0);
        for (const tick of ticks) expect(tick % stepMs).toBe(0);
        for (let tick = 1; tick < ticks.length; tick++)
          expect(
            xOf(scale, ticks[tick] as number) - xOf(scale, ticks[tick - 1] as number),
          ).toBeGreaterThanOrEqual(84);
      },
    ),
  );
});

/** Half of them begin as what is computed does. */
const anyName = fc
  .tuple(fc.constantFrom("", "", "", "", "=", "+", "-", "@", "\t", "\r", "'="), fc.string({ unit: "binary" }))
  .map(([first, rest]) => first + rest);

test("whatever nodes are called, no cell of a table is computed, and each can be read back", () => {
  fc.assert(
    fc.property(fc.array(anyName, { minLength: 1, maxLength: 4 }), (names) => {
      const record = (node: string): NodeRecord => ({
        node,
        state: "failed",
        task_type: node,
        executor: "",
        attempts: 1,
        worker: null,
        started_at: null,
        ended_at: null,
        waited_ms: null,
        ran_ms: 5,
        estimate_ms: 1,
        planned_start: null,
        planned_end: null,
        holds_up_the_end: true,
        result_bytes: 0,
        error_code: node,
        error_message: node,
        needs: [],
      });
      const [heads, ...rows] = readCsv(csvOf(names.map(record)));
      expect(heads?.slice(0, 3)).toEqual(["node", "state", "task_type"]);
      expect(rows.map((cells) => cells.length)).toEqual(names.map(() => 18));
      for (const [at, cells] of rows.entries()) {
        for (const cell of cells) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
        const name = names[at] as string;
        expect(cells[0]).toBe(/^[=+\-@\t\r]/.test(name) ? `'${name}` : name);
      }
    }),
  );
});

/** As RFC 4180 has it. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    if (quoted === undefined && plain === "" && end === "") break;
    rows.at(-1)?.push(quoted === undefined ? (plain ?? "") : quoted.replaceAll('""', '"'));
    if (end === "\r\n") rows.push([]);
  }
  if (rows.at(-1)?.length === 0) rows.pop();
  return rows;
}
