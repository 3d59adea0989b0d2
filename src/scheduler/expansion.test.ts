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

  test("and has their result where no ended run is remembered", () => {
    const loop = new Loop({ keepEndedRuns: 0 });
    loop.turn(1, joins("w1", { slots: 2 }), submits("r", GRAPH));
    loop.turn(2, held(loop, "a"));
    loop.turn(3, grows(loop, [aNode("only", { keep: true })]));
    loop.turn(4, ends(loop, "only", true));
    expect([loop.status("r", "grow"), loop.run("r").data?.holders.get(1)]).toEqual(["completed", [0]]);
    loop.turn(5, loop.finished("r", "z"));
    expect(loop.state.runs.size).toBeLessThan(2);
    expectReplayed(loop);
  });

  test("none before its worker has what it gets", () => {
    const loop = new Loop();
    loop.turn(1, joins("w1", { slots: 1 }), submits("r", [aNode("b"), ...GRAPH]));
    loop.turn(2, { ...held(loop, "b"), tookMicros: 10 });
    expect(loop.status("r", "grow")).toBe("assigned");
    expect(loop.turn(3, grows(loop)).replies).toEqual([{ accepted: false, code: "stale" }]);
  });

  test("what was added is neither made again nor tried again once nobody waits for it", () => {
    const cancelled = new Loop();
    cancelled.turn(1, joins("w1", { slots: 1 }), submits("r", [aNode("grow", { mayAdd: 3 })]));
    const parts = [aNode("other"), aNode("only", { keep: true })];
    cancelled.turn(2, grows(cancelled, parts));
    cancelled.turn(3, joins("w2", { slots: 1 }));
    cancelled.turn(4, ends(cancelled, "only", true));
    cancelled.turn(5, { kind: "CancelRequested", run: 0, node: 0 });
    const worker = cancelled.run("parts of 1").workerOf(1);
    const { texts } = cancelled.turn(6, { kind: "WorkerLost", worker, code: "lease" });
    expect(texts).not.toContain("NodesRecomputed");
    expectReplayed(cancelled);

    const lost = new Loop();
    lost.turn(
      1,
      joins("w0", { slots: 4 }),
      submits("r", [aNode("bad"), aNode("grow", { mayAdd: 3 })], { onFailure: "cancel" }),
    );
    const loses = (at: number) => lost.turn(at, { kind: "WorkerLost", worker: at - 2, code: "lease" });
    for (const at of [2, 3]) {
      loses(at);
      lost.turn(at, joins(`w${at}`, { slots: 4 }));
    }
    lost.turn(4, grows(lost, parts));
    loses(4);
    expect([lost.status("r", "bad"), lost.status("r", "grow")]).toEqual(["failed", "cancelled"]);
    expect(lost.run("parts of 3").outcome).toBe("cancelled");
    expectReplayed(lost);
  });

  test("what was made of an earlier result of it is not taken for made of theirs", () => {
    const loop = new Loop();
    loop.turn(1, joins("w1", { slots: 2 }), submits("r", GRAPH));
    loop.turn(2, { ...held(loop, "a"), tookMicros: 60_000_000 });
    loop.turn(3, { kind: "DrainRequested", worker: 0 }, joins("w2", { slots: 2 }), held(loop, "grow"));
    expect(loop.run("r").workerOf(2)).toBe(1);
    loop.turn(4, { kind: "WorkerLost", worker: 0, code: "lease" });
    loop.turn(5, held(loop, "a"));
    loop.turn(6, joins("w3", { slots: 2 }), { kind: "DrainRequested", worker: 1 });
    loop.turn(7, grows(loop, [aNode("only", { keep: true })]));
    const only = { ...loop.finished("parts of 2", "only", 7, "another"), costMicros: 0, held: true } as const;
    loop.turn(8, only);
    loop.turn(9, loop.finished("r", "z"));
    expect(loop.run("r").workerOf(2)).toBe(1);
    expect(loop.run("r").data?.holders.get(1)).toEqual([2]);
    expectReplayed(loop);
  });

  test("what is known of those that they make ready is used in the same turn", () => {
    const loop = new Loop();
    const cached = (id: string, inputs: string[]) => aNode(id, { inputs, cache: "1", requestHash: id });
    loop.turn(1, joins("w1", { slots: 2 }), submits("before", [cached("c", []), cached("next", ["c"])]));
    loop.turn(2, loop.finished("before", "c", 1, "hash of c"));
    loop.turn(3, loop.finished("before", "next", 1, "hash of next"));
    loop.turn(4, submits("r", [aNode("grow", { mayAdd: 3 }), cached("next", ["grow"])]));
    const { texts } = loop.turn(5, grows(loop, [cached("c", [])]));
    expect(texts.slice(1)).toEqual([
      "TaskReused c",
      "RunEnded completed",
      "ExpansionEnded grow",
      "TaskReused next",
      "RunEnded completed",
    ]);
    expectReplayed(loop);
  });
});
