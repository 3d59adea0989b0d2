import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import type { TaskAssigned } from "../ledger/index.ts";
import { apply, replayBlock, State, type WaitReason, whyHere, whyNotYet } from "./index.ts";

function reasons(loop: Loop, runId: string, nodeId: string): WaitReason[] {
  return whyNotYet(loop.state, loop.run(runId), loop.index(runId, nodeId));
}

function codes(loop: Loop, runId: string, nodeId: string): string[] {
  return reasons(loop, runId, nodeId).map(({ code }) => code);
}

describe("why a task does not run yet, the first that applies:", () => {
  test("Unsatisfiable: no worker that is known could ever run it", () => {
    const loop = new Loop();
    loop.turn(
      1,
      joins("small"),
      joins("other", { executors: ["wasm"] }),
      joins("gone", { cpuMillicores: 9_000 }),
    );
    loop.turn(2, { kind: "WorkerLost", worker: 2, code: "lease" });
    const node = aNode("x", { cpuMillicores: 2_000, needs: ["y"] });
    loop.turn(3, submits("r", [node, aNode("y", { held: true })]));
    expect(reasons(loop, "r", "x")[0]).toEqual({
      code: "Unsatisfiable",
      workers: 3,
      rejected: { cpu: 1, executor: 1, unreachable: 1 },
    });
    expect(codes(loop, "r", "x")).toEqual(["Unsatisfiable", "Dependencies"]);
  });

  test("Unsatisfiable: there are no workers at all", () => {
    const loop = new Loop();
    loop.turn(1, submits("r", [aNode("x")]));
    expect(reasons(loop, "r", "x")).toEqual([{ code: "Unsatisfiable", workers: 0, rejected: {} }]);
  });

  test("Held: it waits for a person", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", [aNode("x", { held: true, needs: ["y"] }), aNode("y")]));
    expect(reasons(loop, "r", "x")[0]).toEqual({ code: "Held", by: "person" });
    expect(codes(loop, "r", "x")).toContain("Dependencies");
  });

  test("Held: all workers that could run it are draining", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), joins("v", { executors: ["wasm"] }), { kind: "DrainRequested", worker: 0 });
    loop.turn(2, submits("r", [aNode("x")]));
    expect(reasons(loop, "r", "x")[0]).toEqual({ code: "Held", by: "draining" });
  });

  test("NotDue: it waits before its next attempt", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", [aNode("x", { maxAttempts: 2, backoffMs: 50 })]));
    loop.turn(2, loop.failed("r", "x"));
    expect(reasons(loop, "r", "x")).toEqual([{ code: "NotDue", dueAt: 52, attempt: 2 }]);
  });

  test("Dependencies: what it needs has not completed; those are named with their status", () => {
    const loop = new Loop();
    const nodes = [aNode("a"), aNode("b"), aNode("c"), aNode("x", { needs: ["a", "b", "c"] })];
    loop.turn(1, joins("w", { slots: 2 }), submits("r", nodes));
    loop.turn(2, loop.started("r", "a"));
    expect(reasons(loop, "r", "x")[0]).toEqual({
      code: "Dependencies",
      total: 3,
      open: [
        { node: "a", status: "running" },
        { node: "b", status: "assigned" },
        { node: "c", status: "ready" },
      ],
    });
    loop.turn(3, loop.finished("r", "a"), loop.finished("r", "b"));
    expect(reasons(loop, "r", "x")[0]).toMatchObject({ total: 1 });
  });

  test("Dependencies: only the first twenty are named, all are counted", () => {
    const loop = new Loop();
    const many = Array.from({ length: 30 }, (_, at) => aNode(`n${at}`));
    loop.turn(1, joins("w"), submits("r", [...many, aNode("x", { needs: many.map(({ id }) => id) })]));
    const [reason] = reasons(loop, "r", "x");
    expect(reason?.code === "Dependencies" && [reason.open.length, reason.total]).toEqual([20, 30]);
  });

  test("Capacity: no worker has room now, and which resource is missing", () => {
    const loop = new Loop();
    loop.turn(1, joins("a"), joins("b"), joins("c", { memoryBytes: 50 }));
    loop.turn(2, submits("r", [aNode("y", { cpuMillicores: 600, memoryBytes: 950 }), aNode("z")]));
    loop.turn(3, submits("s", [aNode("x", { cpuMillicores: 600, memoryBytes: 60 })]));
    expect(reasons(loop, "s", "x")).toEqual([
      { code: "Capacity", rejected: { queue: 2, memory: 1 }, reservedWorker: undefined },
    ]);
  });

  test("Capacity: and a worker is kept free for it", () => {
    const loop = new Loop({ reserveAfterMs: 10 });
    loop.turn(1, joins("w", { slots: 2 }), submits("r", [aNode("y", { cpuMillicores: 600 })]));
    loop.turn(2, submits("s", [aNode("x", { cpuMillicores: 600 })]));
    loop.turn(2, submits("t", [aNode("x", { cpuMillicores: 700 })]));
    loop.turn(20);
    expect(reasons(loop, "s", "x")[0]).toEqual({
      code: "Capacity",
      rejected: { cpu: 1 },
      reservedWorker: "w",
    });
    expect(reasons(loop, "t", "x")[0]).toEqual({
      code: "Capacity",
      rejected: { reserved: 1 },
      reservedWorker: undefined,
    });
  });

  test("Outranked and Pending: a worker is free; others go first, or only the next turn is missing", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"));
    const nodes = [aNode("late"), aNode("next", { estimateMs: 5_000 }), aNode("urgent", { priority: 0 })];
    // As between a submission and the dispatch that follows it in the same turn.
    apply(loop.state, submits("r", nodes), 2);
    expect(reasons(loop, "r", "late")).toEqual([
      { code: "Outranked", ahead: 2, next: expect.objectContaining({ node: "next" }) },
    ]);
    // The critical path goes before what is urgent.
    expect(reasons(loop, "r", "urgent")).toEqual([
      {
        code: "Outranked",
        ahead: 1,
        next: expect.objectContaining({ node: "next", because: "critical-path" }),
      },
    ]);
    expect(reasons(loop, "r", "next")).toEqual([{ code: "Pending" }]);
  });

  test("Outranked counts what goes first of earlier runs and of its own, not what goes later", () => {
    const loop = new Loop();
    const pair = [aNode("a"), aNode("b")];
    loop.turn(1, joins("w"), submits("busy", [aNode("z")]));
    loop.turn(2, submits("r", pair), submits("s", pair), submits("t", pair));
    const ahead = ["r", "s", "t"].flatMap((run) =>
      ["a", "b"].map((id) => {
        const outranked = reasons(loop, run, id).find(({ code }) => code === "Outranked");
        return outranked?.code === "Outranked" ? outranked.ahead : 0;
      }),
    );
    expect(ahead).toEqual([0, 1, 2, 3, 4, 5]);
    expect(codes(loop, "t", "b")[0]).toBe("Capacity");
  });

  test("nothing, when it does not wait", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", [aNode("x"), aNode("y", { done: true })]));
    expect([reasons(loop, "r", "x"), reasons(loop, "r", "y")]).toEqual([[], []]);
  });
});

test("[P-11] why a task is where it is: replayed to before the decision, the table shows every worker", () => {
  const loop = new Loop();
  loop.turn(1, joins("a", { slots: 2 }), joins("b", { slots: 2 }), joins("c", { zone: "there" }));
  loop.turn(2, submits("r", [aNode("x"), aNode("y"), aNode("z")]));
  const state = new State();
  for (const block of loop.blocks) replayBlock(state, block, loop.state.seq - 1);
  const rows = whyHere(state, state.run(0), 2);
  expect(
    rows.map(({ worker, rejection, rank, queueDepth }) => [worker, rejection, rank, queueDepth]),
  ).toEqual([
    ["a", undefined, 1, 1],
    ["b", undefined, 2, 1],
    ["c", "zone", undefined, 0],
  ]);
  const recorded = JSON.parse(loop.blocks.at(-1)?.line ?? "").events.at(-1) as unknown[];
  expect(recorded[0]).toBe("TaskAssigned" satisfies TaskAssigned["kind"]);
  expect([recorded[4], recorded[6], recorded[7]]).toEqual([0, 1, [0, 1]]);
});
