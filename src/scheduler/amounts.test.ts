import fc from "fast-check";
import { expect, test } from "vitest";
import { anyDag } from "../../tests/any-graph.ts";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { limitsOf } from "../graph/index.ts";
import type { LimitConfigured } from "../ledger/index.ts";
import { backlog, isPlaced, restore, takeSnapshot, whyNotYet } from "./index.ts";

const uses = (amounts: Readonly<Record<string, number>>) => limitsOf(new Map(Object.entries(amounts)));

const sets = (name: string, concurrency: number | null): LimitConfigured => ({
  kind: "LimitConfigured",
  zone: "here",
  name,
  concurrency,
  rateCount: null,
  ratePeriodMs: 1,
});

test("[G-05] what already runs counts, what does not fit is passed over, and smaller work goes ahead", () => {
  const loop = new Loop();
  const nodes = [
    aNode("most", { ...uses({ tokens: 300_000 }), estimateMs: 9_000 }),
    aNode("large", { ...uses({ tokens: 250_000 }), estimateMs: 8_000 }),
    aNode("small", { ...uses({ tokens: 200_000 }), estimateMs: 7_000 }),
    aNode("free", { ...uses({ tokens: 0 }), estimateMs: 6_000 }),
  ];
  const told = loop.turn(1, sets("tokens", 500_000), joins("w", { slots: 9 }), submits("r", nodes));
  expect(told.texts.slice(3)).toEqual([
    "TaskAssigned most#1 w",
    "TaskAssigned small#1 w",
    "TaskAssigned free#1 w",
  ]);
  const run = loop.run("r");
  expect(whyNotYet(loop.state, run, 1)).toMatchObject([
    { code: "Admission", barriers: [{ by: "concurrency", running: 500_000, max: 500_000, needed: 250_000 }] },
  ]);
  expect(loop.turn(2, loop.finished("r", "most")).texts).toEqual([
    "AttemptFinished most#1",
    "TaskAssigned large#1 w",
  ]);
});

test("[G-05] work larger than the whole budget is unsatisfiable until the budget is raised", () => {
  const loop = new Loop();
  const nodes = [aNode("huge", uses({ tokens: 500_001 }))];
  loop.turn(1, sets("tokens", 500_000), joins("w"), submits("r", nodes));
  const exceeds = { by: "concurrency", limit: "tokens", running: 0, max: 500_000, needed: 500_001 };
  expect(whyNotYet(loop.state, loop.run("r"), 0)).toMatchObject([{ code: "Unsatisfiable", exceeds }, {}]);
  expect(backlog(loop.state, 2).byReason.Unsatisfiable).toBe(1);
  expect(loop.turn(2, sets("tokens", 500_001)).texts).toContain("TaskAssigned huge#1 w");
});

test("[G-05] what the configuration says of a resource holds in each zone until somebody sets it there", () => {
  const loop = new Loop({ resources: { gpu: 2 } });
  const pair = [aNode("a", uses({ gpu: 2 })), aNode("b", uses({ gpu: 1 }))];
  const there = { zone: "there" };
  loop.turn(1, joins("w", { slots: 9, zones: ["there"] }), submits("r", pair), submits("s", pair, there));
  expect(["r", "s"].map((id) => loop.status(id, "b"))).toEqual(["ready", "ready"]);
  loop.turn(2, sets("gpu", 3));
  expect(["r", "s"].map((id) => loop.status(id, "b"))).toEqual(["assigned", "ready"]);
  const again = restore(takeSnapshot(loop.state));
  expect(again.limit("there", "gpu").max).toBe(2);
  loop.turn(3, sets("gpu", null), {
    kind: "SchedulerConfigured",
    config: { ...loop.state.config, resources: {} },
  });
  expect(["r", "s"].map((id) => loop.status(id, "b"))).toEqual(["assigned", "assigned"]);
});

test.each(["constructor", "toString", "__proto__"])("[G-05] a limit may be named %s", (name) => {
  const loop = new Loop({ resources: { tokens: 1 } });
  loop.turn(1, joins("w"), submits("r", [aNode("a", { limits: [name], amounts: [] })]));
  expect(loop.status("r", "a")).toBe("assigned");
});

test("[G-05] a limit of 0 is shut, which is for a time", () => {
  const loop = new Loop();
  loop.turn(1, sets("gpu", 0), joins("w"), submits("r", [aNode("a", uses({ gpu: 2 }))]));
  expect(whyNotYet(loop.state, loop.run("r"), 0)[0]?.code).toBe("Admission");
});

test("[G-05] no budget is ever exceeded, whatever runs, ends, is cancelled or set anew", () => {
  const anyUse = fc.record({ gpu: fc.nat(4), tokens: fc.nat(9) }).map(uses);
  const anyAct = fc.tuple(fc.constantFrom("finish", "cancel", "raise", "lower"), fc.nat(20), fc.nat(9));
  fc.assert(
    fc.property(anyDag(12, anyUse), fc.array(anyAct, { maxLength: 30 }), (nodes, acts) => {
      const loop = new Loop();
      const max = { gpu: 4, tokens: 9 };
      loop.turn(1, sets("gpu", 4), sets("tokens", 9), joins("w", { slots: 99 }), submits("r", nodes));
      const run = loop.run("r");
      const inUse = (name: "gpu" | "tokens") =>
        nodes.reduce((sum, { task }, at) => {
          const index = task.limits.indexOf(name);
          return sum + (isPlaced(run.statusOf(at)) && index >= 0 ? (task.amounts[index] ?? 1) : 0);
        }, 0);
      for (const [turn, [act, which, amount]] of acts.entries()) {
        const before = { gpu: inUse("gpu"), tokens: inUse("tokens") };
        const at = which % nodes.length;
        const id = nodes[at]?.id ?? "";
        if (act === "finish" && isPlaced(run.statusOf(at))) loop.turn(2 + turn, loop.finished("r", id));
        else if (act === "cancel") loop.turn(2 + turn, { kind: "CancelRequested", run: 0, node: at });
        else {
          const name = which % 2 === 0 ? "gpu" : "tokens";
          max[name] = amount;
          loop.turn(2 + turn, sets(name, amount));
        }
        // What ran before a budget was lowered goes on; nothing is added while it is above.
        for (const name of ["gpu", "tokens"] as const)
          expect(inUse(name)).toBeLessThanOrEqual(Math.max(max[name], before[name]));
      }
    }),
    { seed: 5, numRuns: 300 },
  );
});

/** Small tasks, one of which ends each second and is followed by another, beside a large one that was there before. */
function underStream(
  reserveAfterMs: number,
  seconds: number,
): { readonly loop: Loop; readonly startedAt: number } {
  const loop = new Loop({ reserveAfterMs });
  const small = (at: number) =>
    [aNode("small", { ...uses({ tokens: 2 }), estimateMs: 2_000 })].map((node) => submits(`s${at}`, [node]));
  loop.turn(0, sets("tokens", 10), joins("w", { slots: 99, cpuMillicores: 99_000, memoryBytes: 99_000 }));
  for (let at = 0; at < 5; at++) loop.turn(1, ...small(at));
  loop.turn(2, submits("large", [aNode("large", { ...uses({ tokens: 8 }), estimateMs: 3_000 })]));
  for (let at = 5; at < seconds; at++) {
    const now = at * 1_000;
    const ends =
      loop.state.runById(`s${at - 5}`)?.outcome === undefined &&
      loop.status(`s${at - 5}`, "small") === "assigned";
    loop.turn(now, ...(ends ? [loop.finished(`s${at - 5}`, "small")] : []), ...small(at));
    if (loop.status("large", "large") === "assigned") return { loop, startedAt: now };
  }
  return { loop, startedAt: Number.POSITIVE_INFINITY };
}

test("[G-05] [P-12] what smaller tasks went ahead of for too long has its room kept, and starts when that is free", () => {
  expect(underStream(1_000_000_000, 60).startedAt).toBe(Number.POSITIVE_INFINITY);
  // Three seconds are its own estimate; then nothing small starts any more, and the five that run end within five.
  expect(underStream(1_000, 60).startedAt).toBeLessThanOrEqual(13_000);
});

test("[G-05] room is not kept for one after the other without a pause", () => {
  const { loop, startedAt } = underStream(1_000, 60);
  const large = (id: string) => submits(id, [aNode("large", { ...uses({ tokens: 8 }), estimateMs: 3_000 })]);
  loop.turn(startedAt, large("again"));
  for (let now = startedAt + 1_000; now < startedAt + 24_000; now += 1_000) {
    loop.turn(now, submits(`x${now}`, [aNode("small", uses({ tokens: 1 }))]));
    expect(loop.state.roomFor.size).toBe(0);
  }
  loop.turn(startedAt + 24_000, submits("y", [aNode("small", uses({ tokens: 1 }))]));
  expect(loop.state.roomFor.size).toBe(1);
});

test("[G-05] those that wait for kept room can say so, and the one that it is kept for is told too", () => {
  const { loop } = underStream(1_000, 9);
  expect(loop.state.roomFor.get("here")).toBeDefined();
  const [first] = whyNotYet(loop.state, loop.run("s8"), 0);
  expect(first).toMatchObject({ code: "Admission", barriers: [{ by: "concurrency", kept: 8, needed: 2 }] });
  expect(whyNotYet(loop.state, loop.run("large"), 0)[0]).toMatchObject({
    code: "Admission",
    barriers: [{ by: "concurrency", kept: 0, needed: 8 }],
  });
  const again = restore(JSON.parse(JSON.stringify(takeSnapshot(loop.state))));
  expect([...again.roomFor]).toEqual([...loop.state.roomFor]);
});

test("[G-05] room is kept no longer when its task is cancelled, paused, could not run, or needs more than there is", () => {
  const holds = (...stimuli: Parameters<Loop["turn"]>[1][]) => {
    const { loop } = underStream(1_000, 9);
    const [run] = [loop.run("large")];
    loop.turn(
      9_000,
      ...stimuli.map((of) => (of.kind === "CancelRequested" ? { ...of, run: run.number } : of)),
    );
    return loop.status("s8", "small");
  };
  expect(holds({ kind: "AgentConfigured", zone: "here", agent: "nobody", max: 1 })).toBe("ready");
  expect(holds({ kind: "CancelRequested", run: 0, node: 0 })).toBe("assigned");
  expect(
    holds(
      { kind: "QueuePaused", zone: "here", executor: "shell" },
      { kind: "QueueResumed", zone: "here", executor: "shell" },
    ),
  ).toBe("assigned");
  const { loop } = underStream(1_000, 9);
  loop.turn(9_000, sets("tokens", 7));
  expect([loop.state.roomFor.size, loop.state.kept.size]).toEqual([1, 0]);
  loop.turn(9_001, sets("tokens", 10));
  expect(loop.state.kept.size).toBe(1);
  loop.turn(9_002, { kind: "DrainRequested", worker: 0 });
  expect(loop.state.kept.size).toBe(0);
});
