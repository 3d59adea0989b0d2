import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { MIB } from "../../tests/data-play.ts";
import { expectReplayed } from "../../tests/replayed.ts";
import type { NodesRecomputed } from "../ledger/index.ts";
import type { Stimulus } from "./index.ts";

const held = (loop: Loop, node: string, bytes = MIB) =>
  ({ ...loop.finished("r", node, bytes), costMicros: 0, held: true }) as const;

describe("[D-12] a task adds nodes to its run", () => {
  const GRAPH = [
    aNode("a"),
    aNode("grow", { inputs: ["a"], mayAdd: 3, keep: true }),
    aNode("z", { inputs: ["grow"] }),
  ];
  const PARTS = [aNode("p"), aNode("q"), aNode("sum", { inputs: ["p", "q"], keep: true })];

  const grows = (loop: Loop, nodes = PARTS): Stimulus => ({
    ...submits(`parts of ${loop.attempt("r", "grow").attempt}`, nodes),
    parent: { ...loop.attempt("r", "grow"), tail: nodes.length - 1 },
  });

  function grown(): Loop {
    const loop = new Loop();
    loop.turn(1, joins("w1", { slots: 2 }), submits("r", GRAPH));
    loop.turn(2, held(loop, "a"));
    const { texts } = loop.turn(3, grows(loop));
    expect(texts).toContain("RunSubmitted");
    expect(loop.status("r", "grow")).toBe("expanded");
    return loop;
  }
  const ends = (loop: Loop, node: string, isHeld = false) => ({
    ...loop.finished("parts of 1", node, 7, `hash of ${node}`),
    ...(isHeld && { costMicros: 0, held: true as const }),
  });

  test.for([false, true])("and has the result of one of them, held: %s", (isHeld) => {
    const loop = grown();
    loop.turn(4, ends(loop, "p"), ends(loop, "q"));
    const { texts } = loop.turn(5, ends(loop, "sum", isHeld));
    expect(texts).toContain("ExpansionEnded grow");
    const { data } = loop.run("r");
    expect([data?.hashes.get(1), loop.run("r").resultBytes[1]]).toEqual(["hash of sum", 7]);
    expect(data?.holders.get(1)).toEqual(isHeld ? [0] : undefined);
    expect(loop.run("r").chunkIdOf(1)).toBe(
      isHeld ? loop.run("parts of 1").chunkIdOf(2) : `${loop.run("r").taskIdOf(1)}:1`,
    );
    loop.turn(6, loop.finished("r", "z"));
    expect(loop.run("r").outcome).toBe("completed");
    expectReplayed(loop);
  });

  test("no more than it may, nor for an attempt that is not its last", () => {
    const loop = new Loop();
    loop.turn(1, joins("w1", { slots: 2 }), submits("r", GRAPH));
    loop.turn(2, held(loop, "a"));
    const four = [...PARTS, aNode("s", { inputs: ["sum"], keep: true })];
    expect(loop.turn(3, grows(loop, four)).replies).toEqual([{ accepted: false, code: "too-many-nodes" }]);
    const late = grows(loop);
    loop.turn(4, { ...loop.failed("r", "grow"), retry: false });
    expect(loop.turn(5, late).replies).toEqual([{ accepted: false, code: "stale" }]);
  });

  test("it fails with them, and is cancelled with them", () => {
    const failed = grown();
    failed.turn(4, { ...failed.failed("parts of 1", "p"), retry: false });
    failed.turn(5, ends(failed, "q"));
    expect([failed.status("r", "grow"), failed.run("r").outcome]).toEqual(["failed", "failed"]);
    expectReplayed(failed);
    const cancelled = grown();
    cancelled.turn(4, { kind: "CancelRequested", run: 0, node: -1 });
    for (const node of ["p", "q"])
      cancelled.turn(5, {
        ...cancelled.attempt("parts of 1", node),
        kind: "AttemptCancelled",
        startedAt: -1,
      });
    expect([cancelled.run("r").outcome, cancelled.run("parts of 1").outcome]).toEqual([
      "cancelled",
      "cancelled",
    ]);
    expectReplayed(cancelled);
  });

  test("a result of theirs that is lost is made again by adding them again", () => {
    const loop = grown();
    loop.turn(4, ends(loop, "p"), ends(loop, "q"));
    loop.turn(5, ends(loop, "sum", true));
    loop.turn(6, joins("w2", { slots: 2 }));
    const lost = loop.turn(7, { kind: "WorkerLost", worker: 0, code: "lease" });
    expect((lost.events.find(({ kind }) => kind === "NodesRecomputed") as NodesRecomputed).nodes).toEqual([
      0, 1,
    ]);
    loop.turn(8, held(loop, "a"));
    loop.turn(9, grows(loop));
    expect(loop.status("r", "grow")).toBe("expanded");
    expectReplayed(loop);
  });
});
