import { expect, test } from "vitest";
import { taskSpecOf } from "../graph/index.ts";
import { readGraphFile } from "../protocol/index.ts";
import type { TaskSubmission } from "./api.ts";
import { runStimulus, stimulusOf } from "./stimuli.ts";

const BASE: TaskSubmission = {
  executor: "default",
  type: "resize",
  payload: "{}",
  priority: 2,
  requestState: "pending",
  estimateMs: 1_000,
  boostMicros: 0,
  budget: [],
  deadline: -1,
  runAt: -1,
  idempotencyKey: undefined,
  bodyHash: "",
  cpuMillicores: 100,
  memoryBytes: 200,
  capabilities: [],
  limits: [],
  amounts: [],
  maxAttempts: 3,
  backoffMs: 1_000,
  timeoutMs: 500,
};

const OTHERS: readonly Partial<TaskSubmission>[] = [
  { executor: "gpu" },
  { type: "shrink" },
  { priority: 1 },
  { estimateMs: 1_001 },
  { cpuMillicores: 101 },
  { memoryBytes: 201 },
  { capabilities: ["avx"] },
  { limits: ["api"] },
  { limits: ["api"], amounts: [2] },
  { maxAttempts: 4 },
  { backoffMs: 1_001 },
  { timeoutMs: 501 },
];

const CALLER = { zone: "main", agent: "ada" };

test("submissions that say the same share what they say, and those that say anything else do not", () => {
  const first = stimulusOf(CALLER, BASE);
  for (const other of [...OTHERS, ...OTHERS]) {
    const { stimulus, attached } = stimulusOf(CALLER, { ...BASE, ...other });
    const { capabilities: _, ...asked } = other;
    expect(taskSpecOf(stimulus.spec)).toMatchObject(asked);
    expect(stimulus.spec).not.toEqual(first.stimulus.spec);
    const { executor: _e, type: _t, priority: _p, estimateMs: _m, ...settings } = other;
    expect(JSON.parse(attached.settings)).toMatchObject(settings);
    expect(stimulusOf(CALLER, { ...BASE, payload: "[]" }).stimulus.spec).toBe(first.stimulus.spec);
  }
});

test("a run brings for each node what its worker is given, and what its row keeps", () => {
  const nodes = {
    a: { task: "resize", payload: { b: 1, a: 2 } },
    b: { task: "resize", args: [{ node: "a" }], budget: { ops: 5 } },
    c: { run: "echo", needs: ["a", "b"], capabilities: ["avx"] },
  };
  const read = readGraphFile(JSON.stringify({ nodes }), "g.json");
  if (!read.ok) throw new Error(read.problems[0]?.message);
  const submission = { graph: read.graph, failFast: false };
  const { stimulus, attached } = runStimulus(CALLER, "r", submission);
  const [, { task } = {}] = read.graph.nodes.map(({ spec }) => spec);
  expect(attached).toEqual({
    type: "run",
    payloads: ['{"b":1,"a":2}', '{"args":[{"$input":0}],"inputs":{}}', '{"command":"echo"}'],
    settings: [
      '{"needs":[]}',
      `{"needs":["a"],"budget":${JSON.stringify(task?.budget)}}`,
      '{"needs":["a","b"]}',
    ],
  });
  expect(stimulus.graph.spec.map((at) => stimulus.graph.specs[at]?.[6])).toEqual([
    ["type:resize"],
    ["type:resize"],
    ["avx", "type:command"],
  ]);
  const trace = { traceparent: "00-1-2-01" };
  const traced = runStimulus(CALLER, "r", { ...submission, trace }).attached;
  expect(traced).toMatchObject({
    settings: expect.arrayContaining(['{"needs":[],"traceparent":"00-1-2-01"}']),
  });
});
