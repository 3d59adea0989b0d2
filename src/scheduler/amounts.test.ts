import fc from "fast-check";
import { expect, test } from "vitest";
import { anyDag } from "../../tests/any-graph.ts";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { limitsOf } from "../graph/index.ts";
import type { LimitConfigured } from "../ledger/index.ts";
import { backlog, isPlaced, whyNotYet } from "./index.ts";

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
