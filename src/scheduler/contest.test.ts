import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, type NodeOptions, submits, submitsTask } from "../../tests/builders.ts";
import { limitsOf } from "../graph/index.ts";
import type { TaskSubmitted } from "../ledger/index.ts";
import { type WaitReason, whyNotYet } from "./index.ts";

function task(id: string, options: NodeOptions = {}): TaskSubmitted {
  return submitsTask(id, options, { agent: "bob" });
}

/** Everything waits from 0 on for a worker, which comes at the time given and takes one after the other. */
function orderAt(loop: Loop, now: number, slots = 99): string[] {
  const order: string[] = [];
  for (const event of loop.turn(now, joins("w", { slots, cpuMillicores: 99_000, memoryBytes: 99_000 }))
    .events) {
    if (event.kind !== "TaskAssigned") continue;
    const { run, node } = event;
    order.push(loop.state.runs.get(run)?.graph.idOf(node) ?? loop.state.singles.get(node).id);
  }
  return order;
}

function position(loop: Loop, node: string): [ahead: number, next: string | undefined] {
  const reasons = whyNotYet(loop.state, loop.run("r"), loop.index("r", node), 10_001);
  const outranked = reasons.find(
    (reason): reason is WaitReason & { code: "Outranked" } => reason.code === "Outranked",
  );
  return [outranked?.ahead ?? 0, outranked?.next.node ?? outranked?.next.id];
}

/** Needs of their own, so that each stands in a group of its own. */
const own = (cpuMillicores: number, options: NodeOptions = {}) => ({ cpuMillicores, ...options });

describe("[G-04] [Q-09] among others a run stands", () => {
  const HRRN = { order: "hrrn", starveBatchMs: null, starveBackgroundMs: 1_000_000_000 } as const;
  const nodes = [
    aNode("short", own(1, { estimateMs: 1_000 })),
    aNode("long", own(2, { estimateMs: 50_000 })),
  ];

  test("as its first, and what is behind that in the run does not go before others by its own ratio", () => {
    const loop = new Loop(HRRN);
    loop.turn(
      0,
      submits("r", nodes),
      task("older", { estimateMs: 20_000 }),
      task("other", { estimateMs: 60_000 }),
    );
    expect(orderAt(loop, 10_000)).toEqual(["older", "long", "short", "other"]);
  });

  test("as what can start: a first that nobody can take neither holds up nor carries the rest", () => {
    const loop = new Loop({ ...HRRN, resources: { gpu: 0 } });
    const stuck = [
      aNode("nowhere", { executor: "nobody", estimateMs: 90_000, priority: 0 }),
      aNode("shut", { ...limitsOf(new Map([["gpu", 1]])), estimateMs: 80_000, priority: 0 }),
      aNode("large", own(1_000_000, { estimateMs: 70_000, priority: 0 })),
    ];
    loop.turn(
      0,
      submits("r", [...stuck, ...nodes]),
      task("mid", { estimateMs: 20_000 }),
      task("high", { priority: 1 }),
    );
    expect(orderAt(loop, 10_000)).toEqual(["high", "mid", "long", "short"]);
  });

  test("as urgent as the most urgent that can start: going behind a critical one costs it no place", () => {
    const loop = new Loop(HRRN);
    const urgent = [...nodes, aNode("urgent", own(3, { priority: 0, estimateMs: 40_000 }))];
    loop.turn(0, submits("r", urgent), task("batch", { estimateMs: 100 }));
    expect(orderAt(loop, 10_000)).toEqual(["long", "urgent", "batch", "short"]);
  });

  test("by what is left of it after each start", () => {
    const loop = new Loop({ ...HRRN, resources: { gpu: 1 } });
    const gpu = (amount: number) => limitsOf(new Map([["gpu", amount]]));
    const sharing = [
      aNode("first", { ...own(1, { estimateMs: 10_000 }), ...gpu(1) }),
      // When the first has the limit this cannot start, and the short one stands for the run.
      aNode("second", { ...own(2, { estimateMs: 80_000 }), ...gpu(1) }),
      aNode("third", own(3, { estimateMs: 1_000 })),
      aNode("after", { needs: ["first"], estimateMs: 200_000 }),
    ];
    loop.turn(
      0,
      submits("r", sharing),
      task("mid", { estimateMs: 5_000 }),
      task("late", { estimateMs: 30_000 }),
    );
    expect(orderAt(loop, 10_000)).toEqual(["mid", "first", "third", "late"]);
  });

  test("in classic order too", () => {
    const loop = new Loop({ order: "classic" });
    loop.turn(0, task("early"));
    loop.turn(1, submits("r", nodes));
    loop.turn(2, task("late"));
    expect(orderAt(loop, 3)).toEqual(["early", "long", "short", "late"]);
  });

  test("and why says so", () => {
    const loop = new Loop(HRRN);
    loop.turn(
      0,
      joins("w", { cpuMillicores: 99_000 }),
      submits("busy", [aNode("x", { estimateMs: 900_000 })]),
    );
    loop.turn(
      1,
      submits("r", nodes),
      task("older", { estimateMs: 20_000 }),
      task("other", { estimateMs: 60_000 }),
    );
    expect(position(loop, "long")).toEqual([1, "older"]);
    expect(position(loop, "short")).toEqual([2, "older"]);
  });
});
