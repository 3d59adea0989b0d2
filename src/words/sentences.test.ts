import { describe, expect, test } from "vitest";
import { REJECTIONS, type Reason } from "../placement/index.ts";
import type { WaitReason } from "../scheduler/index.ts";
import {
  type Criterion,
  describeDecider,
  describeNeeds,
  describeReason,
  describeRejected,
  describeRejection,
  describeWait,
} from "./sentences.ts";

const needs = {
  executor: "gpu\u001b",
  zone: "eu",
  capabilities: ["cuda", "avx"],
  cpuMillicores: 1_500,
  memoryBytes: 3 * 2 ** 30,
};
const facts = {
  needs,
  queueDepth: 3,
  missing: ["cuda"],
  reservedFor: "big",
};

describe("every code has its words:", () => {
  test("reasons for a worker", () => {
    const reasons: Reason[] = [
      { type: "OnlyWorkerAvailable" },
      { type: "ResourceFit", availableCpu: 1_000, requiredCpu: 500 },
      { type: "LeastLoaded", queueDepth: 2 },
      { type: "RoundRobin", index: 0 },
      { type: "Random", hash: 1_234_567 },
      { type: "Affinity", because: "DataLocality" },
      { type: "Affinity", because: "PreviouslyExecuted" },
      { type: "Affinity", because: "SameZone" },
    ];
    expect(reasons.map(describeReason)).toEqual([
      "it was the only worker available",
      "it was the only available worker with room (1 core free, 0.5 needed)",
      "no candidate held fewer tasks (it held 2)",
      "it was next in turn (number 1 by id)",
      "it drew the highest score for this node (1,234,567)",
      "it holds more of the data that the task reads",
      "it has completed tasks of this type before",
      "its home is the task's zone",
    ]);
  });

  test("rejections, of one worker and of many", () => {
    expect(REJECTIONS.map((code) => describeRejection(code, facts))).toEqual([
      "does not serve executor gpu\\x1b",
      "not for zone eu",
      "lacks cuda",
      "lost",
      "draining",
      "overloaded",
      "full, holds 3 tasks",
      "kept free for big",
      "too little cpu",
      "too little memory",
      "has just given it back",
    ]);
    expect(describeRejected(Object.fromEntries(REJECTIONS.map((code, at) => [code, at % 2])))).toBe(
      "1 is not for its zone, 1 is lost, 1 is overloaded, 1 is kept free for other tasks, 1 has too little memory",
    );
    expect(describeRejected({ cpu: 1_200, draining: 2 })).toBe("1,200 have too little cpu, 2 are draining");
  });

  test("needs", () => {
    expect(describeNeeds(needs)).toBe("1.5 cores, 3 GiB, executor gpu\\x1b, zone eu, cuda, avx");
  });

  test("reasons to wait", () => {
    const reasons: WaitReason[] = [
      { code: "Unsatisfiable", workers: 0, rejected: {} },
      { code: "Unsatisfiable", workers: 2, rejected: { capability: 2 } },
      { code: "Held", by: "person" },
      { code: "Held", by: "draining" },
      { code: "NotDue", dueAt: 3_500, attempt: 2 },
      { code: "Dependencies", open: [{ node: "a", status: "running" }], total: 21 },
      { code: "Held", by: "paused" },
      {
        code: "Admission",
        barriers: [
          { by: "fair-share", running: 10, max: 10 },
          { by: "concurrency", limit: "openai", running: 1, max: 1, needed: 1, kept: 0 },
          { by: "rate", limit: "gpt", nextAt: 2_500 },
        ],
      },
      { code: "Capacity", rejected: { queue: 1 }, reservedWorker: "w1" },
      { code: "Outranked", ahead: 1, next: { id: "x", zone: "z", agent: "a", node: "b" } },
      { code: "Pending" },
    ];
    expect(reasons.map((reason) => describeWait(reason, 1_000))).toEqual([
      "No worker has registered yet.",
      "No worker known could ever run it: of 2 workers, 2 lack a capability.",
      "It is held until a person releases it.",
      "Every worker that could run it is draining.",
      "Attempt 2 is due in 2.5s, at 1970-01-01T00:00:03.500Z.",
      "It needs 21 nodes that have not completed: a (running), and 20 more.",
      "Its queue is paused.",
      "Its agent already runs 10 of 10 tasks. The limit openai is reached: 1 of 1 in use. The rate of gpt is used up for 1.5s.",
      "No worker has room for it now: 1 is full. w1 is kept free for it.",
      "1 ready task goes before it, first b.",
      "Nothing holds it up: the next turn places it.",
    ]);
  });

  test("what decided between two workers", () => {
    const criteria: Criterion[] = [
      "only candidate",
      "input data",
      "type completed before",
      "home zone",
      "queue depth",
      "turn",
      "score",
      "worker id",
    ];
    const sentences = criteria.map((criterion) =>
      describeDecider({ criterion, chosen: 2, runnerUp: 1, tiedOn: "queue depth" }),
    );
    expect(new Set(sentences).size).toBe(criteria.length);
    expect(sentences.at(-1)).toBe("the tie-break: both held 2 tasks, and the smaller id goes first");
  });
});
