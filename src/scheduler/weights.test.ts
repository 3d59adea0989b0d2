import { createHash, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { aConfig, aNode, submits, submitsTask } from "../../tests/builders.ts";
import { heldBytes } from "../../tests/heap.ts";
import type { TaskSpec } from "../graph/index.ts";
import { State, type Stimulus, step } from "./index.ts";

/** A string of its own, as one that came over the network. */
const own = (text: string) => JSON.parse(JSON.stringify(text)) as string;
const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const names = (of: string, length: number, filler = "x") =>
  Array.from({ length: 20 }, (_, at) => own(`${of}-${at}`.padEnd(length, filler)));

const TASKS: readonly (readonly [name: string, count: number, of: (at: number) => Partial<TaskSpec>])[] = [
  ["of one specification", 20_000, () => ({})],
  ["with an estimate of its own", 5_000, (at) => ({ estimateMs: at })],
  ["with needs of its own", 2_000, (at) => ({ cpuMillicores: at })],
  ["with short names of its own", 1_000, (at) => ({ capabilities: names(`${at}`, 10) })],
  [
    "with long names of its own",
    300,
    (at) => ({ capabilities: names(`${at}`, 256), limits: names(`l${at}`, 256) }),
  ],
  ["with names in Chinese", 300, (at) => ({ limits: names(`${at}`, 200, "漢") })],
];

async function measured(submit: (at: number) => Stimulus, count: number) {
  const state = new State();
  step(
    state,
    0,
    [{ kind: "SchedulerConfigured", config: aConfig({ backlogLimit: 1e9, order: "hrrn" }) }],
    () => {},
  );
  const before = await heldBytes();
  for (let from = 0; from < count; from += 500) {
    const stimuli = Array.from({ length: Math.min(500, count - from) }, (_, at) => submit(from + at));
    step(state, 1 + from, stimuli, () => {});
  }
  const bytes = (await heldBytes()) - before;
  return { bytes: bytes / count, estimate: state.accounts.bytes / count };
}

test.each(TASKS)("[F2] the heap of a waiting task %s is estimated, rather too high", async (_, count, of) => {
  const { bytes, estimate } = await measured(
    (at) => submitsTask(randomUUID(), of(at), { requestHash: hash(`${at}`) }),
    count,
  );
  expect(estimate).toBeGreaterThan(0.8 * bytes);
  expect(estimate).toBeLessThan(3 * bytes);
});

const RUNS = [
  ["a large graph", 3, 5_000, 2, false],
  ["a large graph with results", 3, 5_000, 2, true],
  ["a graph with many edges", 3, 2_000, 20, true],
  ["a graph of one node", 500, 1, 0, false],
] as const;

test.each(RUNS)(
  "[F2] the heap of %s is estimated, rather too high",
  async (_, count, size, edges, hasData) => {
    const id = (at: number) => `node-${at}`;
    const { bytes, estimate } = await measured((run) => {
      const nodes = Array.from({ length: size }, (_, at) => {
        const needs = Array.from({ length: Math.min(at, edges) }, (_, back) => id(at - 1 - back));
        const node = { ...aNode(id(at), { needs }), requestHash: hash(`${run}/${at}`) };
        return hasData ? { ...node, inputs: needs } : node;
      });
      const submission = submits(randomUUID(), nodes);
      return { ...submission, graph: JSON.parse(JSON.stringify(submission.graph)) };
    }, count);
    expect(estimate).toBeGreaterThan(0.8 * bytes);
    expect(estimate).toBeLessThan(3 * bytes);
  },
);
