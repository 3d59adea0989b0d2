import { expect, test } from "vitest";
import { aNode, joins, Loop, submits, submitsTask } from "../../tests/builders.ts";
import { canonicalJson, sha256Hex } from "../core/index.ts";
import { restore } from "./restore.ts";
import { type Snapshot, snapshotTexts, stateHash, takeSnapshot } from "./snapshot.ts";
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
  const whole = submitsTask("whole", { cpuMillicores: 1_000 });
  loop.turn(1, joins("w", { slots: 2 }), submits("run", [aNode("small")]), whole);
  const restored = restore(JSON.parse(JSON.stringify(takeSnapshot(loop.state))) as Snapshot);
  expect(loop.state.fleet.reservations.size).toBe(1);
  expect([...restored.fleet.reservations.keys()]).toEqual([...loop.state.fleet.reservations.keys()]);
});

test("[P-15] the parts that a state is hashed in make up its canonical JSON, with hashes in place of its tasks of no run", () => {
  const loop = new Loop();
  loop.turn(
    1,
    joins("w", { slots: 2 }),
    submits("one", [aNode("a")]),
    submits("two", [aNode("b"), aNode("c")]),
  );
  const taken = takeSnapshot(loop.state);
  const tuples = Array.from({ length: 10_001 }, (_, at) => [at, "id"]);
  const snapshot = { ...taken, rates: undefined, singles: tuples } as unknown as Snapshot;
  const hashes = [tuples.slice(0, 10_000), tuples.slice(10_000)].map((some) =>
    sha256Hex(JSON.stringify(some)),
  );
  expect([...snapshotTexts(snapshot)].join("")).toBe(canonicalJson({ ...taken, singles: hashes }));
});
