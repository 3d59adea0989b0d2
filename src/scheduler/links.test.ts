import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { MIB } from "../../tests/data-play.ts";
import { expectReplayed } from "../../tests/replayed.ts";
import { linkRefusal, nodeAbove, type Stimulus, whereInputsAre, whyNotYet } from "./index.ts";

/** `a` and `slow` are there when `grow` adds nodes; `late` waits for `grow`. */
const GRAPH = [
  aNode("a"),
  aNode("slow"),
  aNode("grow", { mayAdd: 3 }),
  aNode("late", { inputs: ["grow"] }),
  aNode("end", { inputs: ["late"], keep: true }),
];

const of = (run: string, node: string) => (loop: Loop) => ({
  run: loop.run(run).number,
  node: loop.index(run, node),
});

/** A node that gets the result of one of the run above it. */
function grows(loop: Loop, target: string, from = { run: "r", node: "grow" }, above = from.run): Stimulus {
  const { run, node } = of(above, target)(loop);
  return {
    ...submits(`added by ${from.node}`, [aNode("use", { inputs: [target], keep: true }), aNode(target)]),
    parent: { ...loop.attempt(from.run, from.node), tail: 0, links: [[1, run, node]] },
  };
}

const ends = (loop: Loop, run: string, node: string) =>
  ({ ...loop.finished(run, node, MIB, `hash of ${node}`), costMicros: 0, held: true }) as const;

function begun(): Loop {
  const loop = new Loop();
  loop.turn(1, joins("w1", { slots: 4 }), submits("r", GRAPH));
  return loop;
}

describe("[D-12] an added node gets the result of a node of the run that it is added to", () => {
  test("which is there, and is kept for it although nobody else needs it", () => {
    const loop = begun();
    const grow = grows(loop, "a");
    // In one turn: freed only at the end of it, when somebody needs it again.
    const { texts } = loop.turn(2, ends(loop, "r", "a"), grow);
    expect(texts.filter((text) => text.startsWith("ChunksFreed"))).toEqual([]);
    expect(loop.status("added by grow", "a")).toBe("completed");
    expect(loop.status("added by grow", "use")).toBe("assigned");
    const added = loop.run("added by grow");
    expect(added.chunkIdOf(1)).toBe(loop.run("r").chunkIdOf(0));
    expect(added.data?.holdersOf(1)).toEqual([0]);
    expect(whereInputsAre(loop.state, added, 0)).toEqual([
      { node: "a", bytes: MIB, at: "workers", workers: ["w1"] },
    ]);
    const done = loop.turn(3, ends(loop, "added by grow", "use"));
    expect(done.texts).toContain("ExpansionEnded grow");
    expect(loop.run("r").data?.holders.has(0)).toBe(false);
    expectReplayed(loop);
  });

  test("which is made again where it was freed", () => {
    const loop = begun();
    loop.turn(2, ends(loop, "r", "a"));
    expect(loop.run("r").data?.holders.has(0)).toBe(false);
    loop.turn(3, grows(loop, "a"));
    expect([loop.status("r", "a"), loop.status("added by grow", "a")]).toEqual(["assigned", "waiting"]);
    loop.turn(4, ends(loop, "r", "a"));
    expect(loop.status("added by grow", "use")).toBe("assigned");
    loop.turn(5, ends(loop, "added by grow", "use"));
    expect(loop.status("r", "grow")).toBe("completed");
    expectReplayed(loop);
  });

  test("which is to come", () => {
    const loop = begun();
    loop.turn(2, grows(loop, "slow"));
    const added = loop.run("added by grow");
    expect(whyNotYet(loop.state, added, 1)).toEqual([
      { code: "Dependencies", open: [{ node: "slow", status: "assigned" }], total: 1 },
    ]);
    expectReplayed(loop);
    loop.turn(3, ends(loop, "r", "slow"));
    expect(loop.status("added by grow", "use")).toBe("assigned");
    expectReplayed(loop);
  });

  test("which is lost, and made again before the node begins", () => {
    const loop = begun();
    loop.turn(2, grows(loop, "slow"), { kind: "QueuePaused", zone: "here", executor: "" });
    loop.turn(3, ends(loop, "r", "slow"));
    expect(loop.status("added by grow", "use")).toBe("ready");
    loop.turn(4, { kind: "WorkerLost", worker: 0, code: "lease" });
    expect(["slow", "use"].map((node) => loop.status("added by grow", node))).toEqual(["waiting", "waiting"]);
    loop.turn(5, { kind: "QueueResumed", zone: "here", executor: "" }, joins("w2", { slots: 4 }));
    expect(loop.status("r", "slow")).toBe("assigned");
    loop.turn(6, ends(loop, "r", "slow"));
    expect(loop.status("added by grow", "use")).toBe("assigned");
    expect(loop.run("added by grow").data?.holdersOf(1)).toEqual([1]);
    expectReplayed(loop);
  });

  test("and is brought to where it is needed, which its run knows of", () => {
    const loop = begun();
    loop.turn(2, grows(loop, "slow"), joins("w2", { slots: 4 }));
    loop.turn(3, { kind: "DrainRequested", worker: 0 });
    loop.turn(4, ends(loop, "r", "slow"));
    expect(loop.run("added by grow").workerOf(0)).toBe(1);
    loop.turn(5, ends(loop, "r", "a"));
    const { events } = loop.turn(6, ends(loop, "added by grow", "use"));
    expect(events.find(({ kind }) => kind === "ChunksFreed")).toBeDefined();
    expect(loop.run("r").data?.holders.has(1)).toBe(false);
    expectReplayed(loop);
  });

  test("it fails with it, and is cancelled with its run", () => {
    const failed = begun();
    failed.turn(2, grows(failed, "slow"));
    failed.turn(3, { ...failed.failed("r", "slow"), retry: false });
    expect(failed.run("added by grow").outcome).toBe("failed");
    expect(failed.status("added by grow", "slow")).toBe("failed");
    expect(failed.status("r", "grow")).toBe("failed");
    expectReplayed(failed);
    const cancelled = begun();
    cancelled.turn(2, grows(cancelled, "slow"));
    cancelled.turn(3, { kind: "CancelRequested", run: 0, node: cancelled.index("r", "grow") });
    expect(cancelled.run("added by grow").outcome).toBe("cancelled");
    expect(cancelled.run("r").data?.lent.size).toBe(0);
    expectReplayed(cancelled);
  });

  test("none that waits for it, directly or by what another has added", () => {
    const loop = new Loop();
    const grower = (id: string) => aNode(id, { mayAdd: 3, keep: true });
    loop.turn(1, joins("w1", { slots: 4 }), submits("r", [...GRAPH, grower("one"), grower("other")]));
    const grow = of("r", "grow")(loop);
    const refusal = (node: string) => linkRefusal(loop.state, grow, of("r", node)(loop));
    expect(["grow", "late", "end", "a"].map(refusal)).toEqual(["circle", "circle", "circle", undefined]);
    expect(linkRefusal(loop.state, grow, { run: 7, node: 0 })).toBe("unknown");
    expect(linkRefusal(loop.state, grow, { run: 0, node: 99 })).toBe("unknown");
    expect(loop.turn(2, grows(loop, "late")).replies).toEqual([{ accepted: false, code: "stale" }]);
    loop.turn(3, grows(loop, "other", { run: "r", node: "one" }));
    const other = of("r", "other")(loop);
    expect(linkRefusal(loop.state, other, of("r", "one")(loop))).toBe("circle");
    expect(linkRefusal(loop.state, grow, of("r", "one")(loop))).toBe(undefined);
    loop.turn(4, { ...loop.failed("r", "a"), retry: false });
    expect(refusal("a")).toBe("ended");
  });

  test("none that waits for what was added by what another has added, nor one that was made of what it made before", () => {
    const loop = new Loop();
    const grower = (id: string) => aNode(id, { mayAdd: 3, keep: true });
    const user = aNode("user", { inputs: ["one"], keep: true });
    loop.turn(
      1,
      joins("w1", { slots: 4 }),
      submits("r", [grower("one"), grower("other"), user, aNode("rest")]),
    );
    loop.turn(2, {
      ...submits("deep", [grower("deep")]),
      parent: { ...loop.attempt("r", "one"), tail: 0 },
    });
    loop.turn(3, grows(loop, "other", { run: "deep", node: "deep" }, "r"));
    const [one, other] = [of("r", "one")(loop), of("r", "other")(loop)];
    expect(linkRefusal(loop.state, other, one)).toBe("circle");
    loop.turn(4, ends(loop, "r", "other"));
    loop.turn(5, ends(loop, "added by deep", "use"));
    loop.turn(6, { ...loop.finished("r", "user"), costMicros: 0 });
    expect(loop.status("r", "user")).toBe("completed");
    loop.turn(7, { kind: "WorkerLost", worker: 0, code: "lease" });
    expect(["one", "other"].map((node) => loop.status("r", node))).toEqual(["ready", "ready"]);
    expect(linkRefusal(loop.state, one, of("r", "user")(loop))).toBe(undefined);
    loop.turn(8, joins("w2", { slots: 4 }));
    expect(linkRefusal(loop.state, one, of("r", "user")(loop))).toBe("circle");
  });

  test("and is found in the runs above, the nearest first", () => {
    const loop = begun();
    loop.turn(2, grows(loop, "slow"));
    const added = loop.run("added by grow").number;
    expect(nodeAbove(loop.state, added, "use")).toEqual({ run: added, node: 0 });
    expect(nodeAbove(loop.state, added, "slow")).toEqual(of("r", "slow")(loop));
    expect(nodeAbove(loop.state, added, "end")).toEqual(of("r", "end")(loop));
    expect(nodeAbove(loop.state, added, "nowhere")).toBe(undefined);
    expect(linkRefusal(loop.state, { run: added, node: 0 }, of("r", "late")(loop))).toBe("circle");
  });

  test("which is given back although its run is forgotten in the turn in which it ends", () => {
    const loop = new Loop({ keepEndedRuns: 1 });
    const other = aNode("other", { mayAdd: 3 });
    loop.turn(1, joins("w1", { slots: 6 }), submits("r", [...GRAPH, other]));
    loop.turn(2, grows(loop, "slow"), grows(loop, "slow", { run: "r", node: "other" }));
    loop.turn(3, ends(loop, "r", "slow"));
    expect(loop.run("r").data?.lent.get(1)).toBe(2);
    loop.turn(4, ends(loop, "added by grow", "use"), ends(loop, "added by other", "use"));
    expect([loop.run("r").data?.lent.size, loop.run("r").data?.holders.has(1)]).toEqual([0, false]);
    expectReplayed(loop);
  });

  test("runs that end and are forgotten with another whose link fails", () => {
    const loop = new Loop({ keepEndedRuns: 0 });
    const grower = (id: string) => aNode(id, { mayAdd: 3, keep: true });
    loop.turn(1, joins("w1", { slots: 4 }), submits("r", GRAPH));
    loop.turn(2, {
      ...submits("both", [grower("one"), grower("two")], { onFailure: "cancel" }),
      parent: { ...loop.attempt("r", "grow"), tail: 0 },
    });
    for (const node of ["one", "two"]) loop.turn(3, grows(loop, "slow", { run: "both", node }, "r"));
    loop.turn(4, { ...loop.failed("r", "slow"), retry: false });
    expect(loop.status("r", "grow")).toBe("failed");
    expectReplayed(loop);
  });

  test("none that was made of what was found for it before", () => {
    const loop = new Loop({ cacheBytes: 10 * MIB });
    const grow = aNode("grow", { mayAdd: 3, cache: "1", requestHash: "args" });
    const users = ["user", "other"].map((id) => aNode(id, { inputs: ["grow"], keep: true }));
    loop.turn(1, joins("w1", { slots: 1 }), submits("first", [grow]));
    loop.turn(2, ends(loop, "first", "grow"), submits("r", [grow, ...users]), joins("w2", { slots: 2 }));
    expect([loop.status("r", "grow"), loop.run("r").attemptOf(0)]).toEqual(["completed", 0]);
    loop.turn(3, { ...loop.finished("r", "user"), costMicros: 0 });
    for (const worker of [0, 1]) loop.turn(4, { kind: "WorkerLost", worker, code: "lease" });
    loop.turn(5, joins("w3", { slots: 2 }));
    expect([loop.status("r", "grow"), loop.run("r").attemptOf(0)]).toEqual(["assigned", 1]);
    expect(linkRefusal(loop.state, of("r", "grow")(loop), of("r", "user")(loop))).toBe("circle");
  });

  test("which is lost, and not waited for once more where the node is to stop", () => {
    const loop = begun();
    loop.turn(2, grows(loop, "slow"), joins("w2", { slots: 4 }), { kind: "DrainRequested", worker: 0 });
    loop.turn(3, ends(loop, "r", "slow"));
    const added = loop.run("added by grow");
    expect(added.workerOf(0)).toBe(1);
    loop.turn(4, { kind: "CancelRequested", run: added.number, node: -1 });
    loop.turn(5, { kind: "WorkerLost", worker: 0, code: "lease" });
    expect(["slow", "use"].map((node) => loop.status("added by grow", node))).toEqual([
      "completed",
      "cancelling",
    ]);
    loop.turn(6, { ...loop.attempt("added by grow", "use"), kind: "AttemptCancelled" });
    expect([added.outcome, loop.run("r").data?.lent.size]).toEqual(["cancelled", 0]);
    expectReplayed(loop);
  });
});
