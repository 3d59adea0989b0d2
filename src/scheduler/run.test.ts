import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits, type Told } from "../../tests/builders.ts";
import type { CancelRequested, LedgerEvent } from "../ledger/index.ts";
import { isWaiting, type StatusName, stateHash } from "./index.ts";

function cancels(loop: Loop, runId: string, nodeId?: string): CancelRequested {
  const { number } = loop.run(runId);
  return {
    kind: "CancelRequested",
    run: number,
    node: nodeId === undefined ? -1 : loop.index(runId, nodeId),
  };
}

function statuses(loop: Loop, runId: string): Record<string, StatusName> {
  const { graph } = loop.run(runId);
  const ids = Array.from({ length: graph.size }, (_, node) => graph.idOf(node));
  return Object.fromEntries(ids.map((id) => [id, loop.status(runId, id)]));
}

function ofKind<Kind extends LedgerEvent["kind"]>({ events }: Told, kind: Kind) {
  return events.filter((event): event is Extract<LedgerEvent, { kind: Kind }> => event.kind === kind);
}

/** a → b → c, and d beside them, which runs too. */
function started(onFailure: "continue" | "cancel" = "continue"): Loop {
  const loop = new Loop();
  const chain = [aNode("a"), aNode("b", { needs: ["a"] }), aNode("c", { needs: ["b"] })];
  loop.turn(1, joins("w", { slots: 2 }), submits("r", [...chain, aNode("d"), aNode("e")], { onFailure }));
  expect(statuses(loop, "r")).toEqual({
    a: "assigned",
    b: "waiting",
    c: "waiting",
    d: "assigned",
    e: "ready",
  });
  return loop;
}

test("[D-01] at the start all nodes wait but those without unfinished inputs, which are ready", () => {
  const loop = new Loop();
  loop.turn(
    1,
    submits("r", [aNode("b", { needs: ["a"] }), aNode("a"), aNode("c", { needs: ["a", "b"] }), aNode("d")]),
  );
  expect(statuses(loop, "r")).toEqual({ b: "waiting", a: "ready", c: "waiting", d: "ready" });
});

test("[G-01] a node that waits for a person is not run, nor what hangs on it, and the run stays open", () => {
  const loop = new Loop();
  const nodes = [aNode("a", { held: true }), aNode("b", { needs: ["a"] }), aNode("c")];
  loop.turn(1, joins("w", { slots: 3 }), submits("r", nodes));
  loop.turn(2, loop.finished("r", "c"));
  expect(statuses(loop, "r")).toEqual({ a: "held", b: "waiting", c: "completed" });
  expect(loop.run("r").outcome).toBeUndefined();
  expect(loop.turn(3, cancels(loop, "r", "a")).texts).toEqual([
    "CancelRequested a",
    "TaskCancelled a",
    "TasksSkipped a",
    "RunEnded failed",
  ]);
});

test("[G-01] nodes that were done before are not run again, and count as done for what needs them", () => {
  const loop = new Loop();
  const nodes = [
    aNode("a", { done: true }),
    aNode("b", { needs: ["a"] }),
    aNode("c", { needs: ["b"], done: true }),
  ];
  const told = loop.turn(1, joins("w", { slots: 3 }), submits("r", nodes));
  expect(told.texts.slice(2)).toEqual(["TaskAssigned b#1 w"]);
  expect(loop.turn(2, loop.finished("r", "b")).texts).toEqual(["AttemptFinished b#1", "RunEnded completed"]);
  expect([...loop.run("r").attempt]).toEqual([0, 1, 0]);
});

test("a run whose nodes were all done before ends at once", () => {
  const loop = new Loop();
  const told = loop.turn(
    1,
    submits("r", [aNode("a", { done: true, held: true }), aNode("b", { done: true })]),
  );
  expect(told.texts).toEqual(["RunSubmitted", "RunEnded completed"]);
});

describe("cancelling", () => {
  test("a waiting node cancels it and skips what hangs on it", () => {
    const loop = started();
    const told = loop.turn(2, cancels(loop, "r", "b"));
    expect(told.texts).toEqual(["CancelRequested b", "TaskCancelled b", "TasksSkipped b"]);
    expect(ofKind(told, "TasksSkipped")[0]?.nodes).toEqual([2]);
    expect(statuses(loop, "r")).toMatchObject({ a: "assigned", b: "cancelled", c: "skipped" });
  });

  test("a ready node means that it is never assigned", () => {
    const loop = started();
    loop.turn(2, cancels(loop, "r", "e"));
    expect(loop.turn(3, loop.finished("r", "d")).texts).toEqual(["AttemptFinished d#1"]);
  });

  test("a node that waits for another attempt means that there is none", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", [aNode("x", { maxAttempts: 3, backoffMs: 50 })]));
    loop.turn(2, loop.failed("r", "x"));
    expect(loop.turn(3, cancels(loop, "r", "x")).texts.at(-1)).toBe("RunEnded failed");
    expect(loop.turn(100).texts).toEqual([]);
  });

  test("a placed node signals its worker, and it is cancelled when the worker confirms", () => {
    const loop = started();
    const told = loop.turn(2, cancels(loop, "r", "a"));
    expect(told.texts).toEqual(["CancelRequested a", "CancelSignalled a#1"]);
    expect(statuses(loop, "r")).toMatchObject({ a: "cancelling", b: "waiting" });
    const { texts } = loop.turn(3, { kind: "AttemptCancelled", ...loop.attempt("r", "a") });
    expect(texts).toEqual([
      "AttemptCancelled a#1",
      "TaskCancelled a",
      "TasksSkipped a",
      "TaskAssigned e#1 w",
    ]);
    expect(statuses(loop, "r")).toMatchObject({ a: "cancelled", b: "skipped", c: "skipped" });
  });

  test("a placed node that finishes all the same has finished, and the rest goes on", () => {
    const loop = started();
    loop.turn(2, cancels(loop, "r", "a"));
    loop.turn(3, loop.finished("r", "a"));
    expect(statuses(loop, "r")).toMatchObject({ a: "completed", b: "assigned" });
  });

  test("a placed node that fails instead is cancelled, not tried again", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", [aNode("x", { maxAttempts: 3 })]));
    loop.turn(2, cancels(loop, "r", "x"));
    expect(loop.turn(3, loop.failed("r", "x")).texts.at(-2)).toBe("TaskCancelled x");
  });

  test("a placed node twice signals its worker once", () => {
    const loop = started();
    loop.turn(2, cancels(loop, "r", "a"));
    expect(ofKind(loop.turn(3, cancels(loop, "r", "a")), "CancelSignalled")).toEqual([]);
  });

  test("a run cancels what waits, signals what is placed, and ends when the last has ended", () => {
    const loop = started();
    const told = loop.turn(2, cancels(loop, "r"));
    expect(told.texts).toEqual([
      "CancelRequested",
      "CancelSignalled a#1",
      "TaskCancelled b",
      "TaskCancelled c",
      "CancelSignalled d#1",
      "TaskCancelled e",
    ]);
    loop.turn(3, { kind: "AttemptCancelled", ...loop.attempt("r", "a") });
    expect(loop.run("r").outcome).toBeUndefined();
    expect(loop.turn(4, loop.finished("r", "d")).texts).toEqual([
      "AttemptFinished d#1",
      "RunEnded cancelled",
    ]);
    expect(statuses(loop, "r")).toMatchObject({ a: "cancelled", b: "cancelled", d: "completed" });
  });

  test("a run that nothing of is placed ends at once", () => {
    const loop = new Loop();
    loop.turn(1, submits("r", [aNode("a"), aNode("b", { held: true })]));
    expect(loop.turn(2, cancels(loop, "r")).texts.at(-1)).toBe("RunEnded cancelled");
  });

  test("what has ended, or a run again, is refused and not recorded", () => {
    const loop = started();
    loop.turn(2, loop.finished("r", "d"));
    const before = stateHash(loop.state);
    const told = loop.turn(3, cancels(loop, "r", "d"));
    expect([told.replies, told.events]).toEqual([[{ accepted: false, code: "stale" }], []]);
    expect(stateHash(loop.state)).toBe(before);
    loop.turn(4, cancels(loop, "r"));
    expect(loop.turn(5, cancels(loop, "r")).replies).toEqual([{ accepted: false, code: "stale" }]);
  });

  test("what is not known is refused", () => {
    const loop = started();
    for (const unknown of [
      { run: 9, node: -1 },
      { run: 0, node: 5 },
    ]) {
      const told = loop.turn(2, { kind: "CancelRequested", ...unknown });
      expect([told.replies, told.events]).toEqual([[{ accepted: false, code: "unknown" }], []]);
    }
  });
});

describe("when a node has failed for good", () => {
  test("and the rest shall continue, what hangs on it is skipped and the rest goes on", () => {
    const loop = started("continue");
    const told = loop.turn(2, loop.failed("r", "a"));
    expect(told.texts).toEqual(["AttemptFailed a#1", "TaskFailed a", "TasksSkipped a", "TaskAssigned e#1 w"]);
    expect(ofKind(told, "TasksSkipped")[0]?.nodes).toEqual([1, 2]);
    loop.turn(3, loop.finished("r", "d"));
    expect(loop.turn(4, loop.finished("r", "e")).texts.at(-1)).toBe("RunEnded failed");
  });

  test("and the rest shall be cancelled, what waits is cancelled and what is placed is signalled", () => {
    const loop = started("cancel");
    const told = loop.turn(2, loop.failed("r", "a"));
    expect(told.texts).toEqual([
      "AttemptFailed a#1",
      "TaskFailed a",
      "TasksSkipped a",
      "CancelSignalled d#1",
      "TaskCancelled e",
    ]);
    const { texts } = loop.turn(3, { kind: "AttemptCancelled", ...loop.attempt("r", "d") });
    expect(texts.at(-1)).toBe("RunEnded failed");
  });

  test("and its worker had more of the run, each of them settles", () => {
    for (const maxAttempts of [1, 2]) {
      const loop = new Loop();
      const nodes = [aNode("a"), aNode("b", { maxAttempts }), aNode("c", { needs: ["b"] }), aNode("d")];
      loop.turn(1, joins("w", { slots: 3 }), submits("r", nodes, { onFailure: "cancel" }));
      const { texts } = loop.turn(2, { kind: "WorkerLost", worker: 0, code: "lease" });
      expect(texts.at(-1)).toBe("RunEnded failed");
      expect(
        Object.values(statuses(loop, "r")).every((status) => /failed|cancelled|skipped/.test(status)),
      ).toBe(true);
    }
  });

  test("skipping follows every path once, and leaves alone what is done", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a"),
      aNode("b", { needs: ["a"] }),
      aNode("c", { needs: ["a"], held: true }),
      aNode("d", { needs: ["b", "c"] }),
      aNode("done", { needs: ["a"], done: true }),
      aNode("after", { needs: ["done"] }),
    ];
    loop.turn(1, joins("w", { slots: 1 }), submits("r", nodes));
    const [skipped] = ofKind(loop.turn(2, loop.failed("r", "a")), "TasksSkipped");
    expect(skipped?.nodes).toEqual([1, 2, 3]);
    expect(statuses(loop, "r")).toMatchObject({ done: "completed", after: "assigned" });
  });
});

test("ended runs are forgotten, the oldest first, and their ids can be used again", () => {
  const loop = new Loop({ keepEndedRuns: 1 });
  const quick = (id: string) => submits(id, [aNode("a", { done: true })]);
  loop.turn(1, quick("one"));
  expect(loop.turn(2, quick("one")).replies).toEqual([{ accepted: false, code: "duplicate-run" }]);
  loop.turn(3, quick("two"));
  expect(loop.state.runById("one")).toBeUndefined();
  expect(loop.turn(4, quick("one")).replies).toEqual([{ accepted: true, throttle: false }]);
  expect([loop.run("one").number, loop.state.runs.size]).toEqual([2, 1]);
});

test("a turn without effect records nothing and changes no hash", () => {
  const loop = started();
  const before = stateHash(loop.state);
  const blocks = loop.blocks.length;
  expect(loop.turn(5).events).toEqual([]);
  expect(loop.turn(1_000_000, submits("r", [aNode("a")])).replies).toEqual([
    { accepted: false, code: "duplicate-run" },
  ]);
  expect([stateHash(loop.state), loop.blocks.length]).toEqual([before, blocks]);
});

test("what waits is what has neither ended nor been given to a worker", () => {
  const loop = started();
  loop.turn(2, cancels(loop, "r", "c"));
  const waiting = ["a", "b", "c", "d", "e"].filter((id) => isWaiting(loop.run("r"), loop.index("r", id)));
  expect(waiting).toEqual(["b", "e"]);
});
