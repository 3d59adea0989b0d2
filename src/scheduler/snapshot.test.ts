import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { wireSpec } from "../graph/index.ts";
import type { TaskSubmitted } from "../ledger/index.ts";
import { restore } from "./restore.ts";
import { type Snapshot, stateHash, takeSnapshot } from "./snapshot.ts";
import { step } from "./step.ts";

test("what runs under a limit that nobody set is still counted when an ended run before it named it too", () => {
  const loop = new Loop();
  const named = [aNode("only", { limits: ["db"] })];
  loop.turn(1, joins("w", { slots: 2 }), submits("ended", named), submits("open", named));
  loop.turn(2, loop.finished("ended", "only"));
  const restored = restore(JSON.parse(JSON.stringify(takeSnapshot(loop.state))) as Snapshot);
  expect(stateHash(restored)).toBe(stateHash(loop.state));
  step(restored, 3, [loop.finished("open", "only")], () => {});
  loop.turn(3, loop.finished("open", "only"));
  expect(stateHash(restored)).toBe(stateHash(loop.state));
});

test("a worker is still kept free for the very first task of no run when a snapshot is read", () => {
  const loop = new Loop({ reserveAfterMs: 0 });
  const whole = { kind: "TaskSubmitted", id: "whole", agent: "ann", zone: "here" } as const;
  const submitted: TaskSubmitted = {
    ...whole,
    spec: wireSpec(aNode("whole", { cpuMillicores: 1_000 }).task),
    requestState: "pending",
    boostMicros: 0,
    deadline: -1,
    runAt: -1,
    requestHash: "",
    attempts: 0,
  };
  loop.turn(1, joins("w", { slots: 2 }), submits("run", [aNode("small")]), submitted);
  const restored = restore(JSON.parse(JSON.stringify(takeSnapshot(loop.state))) as Snapshot);
  expect(loop.state.fleet.reservations.size).toBe(1);
  expect([...restored.fleet.reservations.keys()]).toEqual([...loop.state.fleet.reservations.keys()]);
});
