import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { restore, type Snapshot, stateHash, takeSnapshot } from "./snapshot.ts";
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
