import { expect, test } from "vitest";
import { describeChange, type ToldChange } from "./changes.ts";

test("every change has its words, and names from outside cannot act on a terminal", () => {
  const task = { id: "t-1", zone: "eu", agent: "ann", node: undefined };
  const changes: ToldChange[] = [
    { kind: "resume", executors: ["gpu\u001b"] },
    { kind: "resume", executors: ["", "gpu"] },
    { kind: "agent-limit", agent: "ann", from: 2, to: 3 },
    { kind: "agent-limit", agent: "ann", from: 0, to: 1 },
    { kind: "limit", limit: "db", from: 4, to: 1_005 },
    { kind: "rate", limit: "mail", from: 1, to: 2, periodMs: 60_000 },
    { kind: "worker", count: 1, like: "w1", adds: {} },
    { kind: "worker", count: 4, like: "w1", adds: {} },
    {
      kind: "worker",
      count: 1,
      like: "w1",
      adds: { types: ["film"], capabilities: ["cuda"], cpuMillicores: 500 },
    },
    { kind: "worker", count: 1, like: undefined, adds: { executor: "gpu", memoryBytes: 2 ** 30 } },
    { kind: "priority", from: "normal", to: "high" },
    { kind: "at-once", dueAt: 0 },
    { kind: "cancel", task },
    { kind: "cancel", task: { ...task, node: "build" } },
    { kind: "recharge", task, part: "ops", amount: 5 },
    {
      kind: "together",
      changes: [
        { kind: "resume", executors: [""] },
        { kind: "limit", limit: "db", from: 0, to: 1 },
      ],
    },
  ];
  expect(changes.map(describeChange)).toEqual([
    "the executor gpu\\x1b were resumed",
    "the zone were resumed and the executor gpu were resumed",
    "ann could run 3 tasks at once, not 2",
    "ann could run 1 task at once, not 0",
    "the limit db had room for 1,005 at once, not 4",
    "the limit mail let 2 start every 1m 00s, not 1",
    "there were one more worker like w1",
    "there were 4 more workers like w1",
    "there were a worker like w1 that also had the task type film, the capability cuda, 0.5 more cores",
    "there were a worker with the executor gpu, 1 GiB of memory",
    "it were cancelled and submitted again with the priority high, not normal",
    "it were cancelled and submitted again to run at once, not at 1970-01-01T00:00:00.000Z",
    "t-1 ended now or were cancelled",
    "build ended now or were cancelled",
    "t-1, which has used up its operations, were recharged",
    "the zone were resumed, and the limit db had room for 1 at once, not 0",
  ]);
});
