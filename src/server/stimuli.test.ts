import { expect, test } from "vitest";
import { taskSpecOf } from "../graph/index.ts";
import type { TaskSubmission } from "./api.ts";
import { stimulusOf } from "./stimuli.ts";

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
