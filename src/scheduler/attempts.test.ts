import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { InvariantError } from "../core/index.ts";
import { isEnded, STATUS_NAMES, Status, type Stimulus, stateHash, step } from "./index.ts";

/** A loop in which the node `x` is on the only worker. */
function placed(options: Parameters<typeof aNode>[1] = {}, config = {}): Loop {
  const loop = new Loop(config);
  const node = aNode("x", { cpuMillicores: 300, memoryBytes: 200, ...options });
  loop.turn(1, joins("w"), submits("r", [node]));
  expect(loop.status("r", "x")).toBe("assigned");
  return loop;
}

describe("[P-03] resources are taken at assignment and returned however the attempt ends:", () => {
  const ends: readonly (readonly [string, (loop: Loop) => Stimulus])[] = [
    ["finished", (loop) => loop.finished("r", "x")],
    ["failed", (loop) => loop.failed("r", "x")],
    ["timed out", (loop) => ({ kind: "AttemptTimedOut", ...loop.attempt("r", "x") })],
    ["lost", (loop) => ({ kind: "AttemptLost", ...loop.attempt("r", "x") })],
    ["cancelled", (loop) => ({ kind: "AttemptCancelled", ...loop.attempt("r", "x") })],
    ["its worker lost", () => ({ kind: "WorkerLost", worker: 0, code: "lease" })],
    ["its worker began anew", () => joins("w")],
  ];
  for (const started of [false, true]) {
    test.each(ends)(`%s, ${started ? "after" : "before"} it began`, (_how, end) => {
      const loop = placed();
      if (started) loop.turn(2, loop.started("r", "x"));
      const [worker] = loop.state.fleet.workers;
      expect([worker?.freeCpu, worker?.freeMemory, worker?.queueDepth]).toEqual([700, 800, 1]);
      loop.turn(3, end(loop));
      expect([worker?.freeCpu, worker?.freeMemory, worker?.queueDepth]).toEqual([1_000, 1_000, 0]);
      expect(loop.state.fleet.heldTotal).toBe(0);
    });
  }

  test.each(ends)("%s, after it was told to stop", (_how, end) => {
    const loop = placed();
    loop.turn(2, { kind: "CancelRequested", run: 0, node: 0 });
    loop.turn(3, end(loop));
    expect(loop.state.fleet.workers[0]?.freeCpu).toBe(1_000);
    expect(isEnded(loop.run("r").statusOf(0))).toBe(true);
  });
});

describe("an attempt that ends without a result is followed by another until there were enough:", () => {
  const ends: readonly (readonly [string, (loop: Loop) => Stimulus])[] = [
    ["failed", (loop) => loop.failed("r", "x")],
    ["timed out", (loop) => ({ kind: "AttemptTimedOut", ...loop.attempt("r", "x") })],
    ["lost", (loop) => ({ kind: "AttemptLost", ...loop.attempt("r", "x") })],
    ["cancelled by its worker", (loop) => ({ kind: "AttemptCancelled", ...loop.attempt("r", "x") })],
  ];
  test.each(ends)("%s", (_how, end) => {
    const loop = placed({ maxAttempts: 3 });
    expect(loop.turn(2, end(loop)).texts.slice(1)).toEqual(["TaskRetried x", "TaskAssigned x#2 w"]);
    expect(loop.turn(3, end(loop)).texts.slice(1)).toEqual(["TaskRetried x", "TaskAssigned x#3 w"]);
    expect(loop.turn(4, end(loop)).texts.slice(1)).toEqual(["TaskFailed x", "RunEnded failed"]);
  });
});

test("the wait before another attempt doubles each time, and has a limit", () => {
  const loop = placed({ maxAttempts: 6, backoffMs: 100 }, { maxBackoffMs: 500 });
  const waits: number[] = [];
  let now = 10;
  for (let attempt = 1; attempt < 6; attempt++) {
    const { events } = loop.turn(now, loop.failed("r", "x"));
    const retried = events.find((event) => event.kind === "TaskRetried");
    const dueAt = retried?.kind === "TaskRetried" ? retried.dueAt : Number.NaN;
    waits.push(dueAt - now);
    expect(loop.turn(dueAt - 1).texts).toEqual([]);
    expect(loop.turn(dueAt).texts).toEqual([`TaskAssigned x#${attempt + 1} w`]);
    now = dueAt + 1;
  }
  expect(waits).toEqual([100, 200, 400, 500, 500]);
});

test("very many attempts do not make the wait overflow", () => {
  const loop = placed({ maxAttempts: 2_000, backoffMs: 1 }, { maxBackoffMs: 3 });
  let now = 10;
  for (let attempt = 1; attempt < 1_100; attempt++) {
    loop.turn(now, loop.failed("r", "x"));
    now += 3;
    loop.turn(now);
  }
  expect(loop.run("r").attempt[0]).toBe(1_100);
});

test("a lost attempt is no fault of the task: the next one does not wait", () => {
  const loop = placed({ maxAttempts: 2, backoffMs: 60_000 });
  const { texts } = loop.turn(2, { kind: "AttemptLost", ...loop.attempt("r", "x") });
  expect(texts).toEqual(["AttemptLost x#1", "TaskRetried x", "TaskAssigned x#2 w"]);
});

test("a task keeps its rank while it waits for another attempt, and others use the worker", () => {
  const loop = new Loop();
  const nodes = [aNode("x", { maxAttempts: 2, backoffMs: 50, estimateMs: 9_000 }), aNode("y"), aNode("z")];
  loop.turn(1, joins("w"), submits("r", nodes));
  expect(loop.turn(2, loop.failed("r", "x")).texts.at(-1)).toBe("TaskAssigned y#1 w");
  expect(loop.turn(60, loop.finished("r", "y")).texts.at(-1)).toBe("TaskAssigned x#2 w");
});

test("[G-01] a task that has used up its attempts is never ready again", () => {
  const loop = placed({ maxAttempts: 1 });
  loop.turn(2, loop.failed("r", "x"));
  expect(loop.status("r", "x")).toBe("failed");
  expect(loop.turn(1_000_000, joins("v")).texts).toEqual(["WorkerRegistered v"]);
});

describe("a report that names no current attempt is refused and recorded:", () => {
  const reports: readonly (readonly [string, "stale" | "unknown", (loop: Loop) => Stimulus])[] = [
    ["of an earlier attempt", "stale", (loop) => ({ ...loop.finished("r", "x"), attempt: 1 })],
    ["of an attempt still to come", "stale", (loop) => ({ ...loop.finished("r", "x"), attempt: 3 })],
    ["of a task that is not placed", "stale", (loop) => ({ ...loop.finished("r", "later"), attempt: 0 })],
    ["of a node that is not in the run", "unknown", (loop) => ({ ...loop.finished("r", "x"), node: 2 })],
    ["of a node that cannot be", "unknown", (loop) => ({ ...loop.finished("r", "x"), node: -1 })],
    ["of a run that is not known", "unknown", (loop) => ({ ...loop.finished("r", "x"), run: 1 })],
  ];
  test.each(reports)("%s", (_which, code, report) => {
    const loop = new Loop();
    const nodes = [aNode("x", { maxAttempts: 3 }), aNode("later", { needs: ["x"] })];
    loop.turn(1, joins("w"), submits("r", nodes));
    loop.turn(2, loop.failed("r", "x"));
    const stimulus = report(loop);
    const { replies, events } = loop.turn(3, stimulus);
    expect(replies).toEqual([{ accepted: false, code }]);
    const { run, node, attempt } = stimulus as { run: number; node: number; attempt: number };
    expect(events).toEqual([{ kind: "ReportRefused", run, node, attempt, report: "AttemptFinished", code }]);
    expect(loop.status("r", "x")).toBe("assigned");
  });

  test("a completion counts once, also within a turn", () => {
    const loop = placed();
    const report = loop.finished("r", "x");
    const { texts, replies } = loop.turn(2, report, report);
    expect(texts).toEqual(["AttemptFinished x#1", "RunEnded completed", "ReportRefused x#1"]);
    expect(replies.map(({ accepted }) => accepted)).toEqual([true, false]);
  });

  test("a second start is refused, and so is a start after the end", () => {
    const loop = placed();
    const start = loop.started("r", "x");
    expect(loop.turn(2, start).replies).toMatchObject([{ accepted: true }]);
    expect(loop.turn(3, start).replies).toEqual([{ accepted: false, code: "stale" }]);
    loop.turn(4, loop.finished("r", "x"));
    expect(loop.turn(5, start).replies).toEqual([{ accepted: false, code: "stale" }]);
  });

  test("a late completion of a lost worker changes nothing", () => {
    const loop = placed({ maxAttempts: 2 });
    const late = loop.finished("r", "x");
    loop.turn(2, joins("v"), { kind: "WorkerLost", worker: 0, code: "lease" });
    expect(loop.turn(3, late).replies).toEqual([{ accepted: false, code: "stale" }]);
    expect([loop.status("r", "x"), loop.run("r").attempt[0]]).toEqual(["assigned", 2]);
  });
});

test("a task is running from the time that its worker says", () => {
  const loop = placed();
  loop.turn(50, { ...loop.started("r", "x"), startedAt: 40 });
  expect([loop.status("r", "x"), loop.run("r").since[0]]).toEqual(["running", 40]);
});

test("news of workers that are unknown or already gone is refused and not recorded", () => {
  const loop = new Loop();
  loop.turn(1, joins("w"));
  const about = (worker: number): Stimulus[] => [
    { kind: "WorkerLost", worker, code: "lease" },
    { kind: "DrainRequested", worker },
    { kind: "WorkerLoadReported", worker, loadPermille: 1_000, saysOverloaded: true },
  ];
  const codes = (worker: number) =>
    loop.turn(3, ...about(worker)).replies.map((reply) => "code" in reply && reply.code);
  expect(codes(7)).toEqual(["unknown", "unknown", "unknown"]);
  loop.turn(2, { kind: "WorkerLost", worker: 0, code: "lease" });
  const before = stateHash(loop.state);
  expect(codes(0)).toEqual(["stale", "stale", "stale"]);
  expect(stateHash(loop.state)).toBe(before);
});

test("time never runs backwards", () => {
  const loop = new Loop();
  loop.turn(5, joins("w"));
  expect(() => step(loop.state, 4, [], () => {})).toThrow(InvariantError);
});

test("[Q-03] a task's status moves only as its table says", () => {
  const run = placed().run("r");
  const moves = STATUS_NAMES.map((from) => {
    const to = STATUS_NAMES.filter((name) => {
      run.status[0] = Status[from];
      try {
        run.move(0, Status[name], 0, 0);
        return true;
      } catch {
        return false;
      }
    });
    return `${from}: ${to.join(", ")}`;
  });
  expect(moves).toEqual([
    "waiting: ready, assigned, completed, failed, cancelled, skipped",
    "held: cancelled, skipped",
    "ready: waiting, assigned, completed, failed, cancelled, speculating",
    "delayed: waiting, assigned, failed, cancelled, speculating",
    "assigned: waiting, running, cancelling, settling, completed, expanded",
    "running: waiting, cancelling, settling, completed, expanded",
    "cancelling: waiting, settlingCancel, completed",
    "settling: waiting, delayed, failed, cancelled, skipped",
    "settlingCancel: cancelled, skipped",
    "completed: waiting",
    "failed: ",
    "cancelled: ",
    "skipped: ",
    "speculating: completed, failed, cancelled",
    "expanded: completed, failed, cancelled",
  ]);
});

test.each([-2, 0.5, 1, Number.NaN])(
  "a request to cancel node %s, which is not there, is refused and not recorded",
  (node) => {
    const loop = placed();
    const before = stateHash(loop.state);
    const [reply] = step(loop.state, 2, [{ kind: "CancelRequested", run: 0, node }], () =>
      expect.unreachable(),
    );
    expect(reply).toEqual({ accepted: false, code: "unknown" });
    expect(stateHash(loop.state)).toBe(before);
  },
);

test.each([
  { node: 0.5 },
  { node: Number.NaN },
  { attempt: Number.POSITIVE_INFINITY },
  { startedAt: Number.NaN },
  { resultBytes: Number.POSITIVE_INFINITY },
])("a report with %j, which no ledger could hold, is refused and not recorded", (odd) => {
  const loop = placed();
  const report = { ...loop.finished("r", "x"), ...odd } as Stimulus;
  const [reply] = step(loop.state, 2, [report], () => expect.unreachable());
  expect(reply).toEqual({ accepted: false, code: "unknown" });
});

describe("[Q-19] an attempt that never began does not count:", () => {
  const once = [aNode("only", { maxAttempts: 1 })];

  test("a worker that leaves gives back what waited in its queue", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", once));
    const told = loop.turn(2, { kind: "WorkerLost", worker: 0, code: "left" });
    expect(told.texts).toContain("TaskRetried only");
    loop.turn(3, joins("w"));
    expect(loop.attempt("r", "only").attempt).toBe(2);
    expect(loop.turn(4, loop.failed("r", "only")).texts).toContain("TaskFailed only");
  });

  test("what a worker that lives no longer lists is given to others", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", once));
    const lost = { kind: "AttemptLost", ...loop.attempt("r", "only"), startedAt: -1 } as const;
    expect(loop.turn(2, lost).texts).toContain("TaskRetried only");
  });

  test("but one that had begun counts, and so does one of a worker that fell silent", () => {
    const begun = new Loop();
    begun.turn(1, joins("w"), submits("r", once));
    begun.turn(2, begun.started("r", "only"));
    expect(begun.turn(3, { kind: "WorkerLost", worker: 0, code: "left" }).texts).toContain("TaskFailed only");
    const silent = new Loop();
    silent.turn(1, joins("w"), submits("r", once));
    expect(silent.turn(3, { kind: "WorkerLost", worker: 0, code: "lease" }).texts).toContain(
      "TaskFailed only",
    );
  });

  test("a task that every worker drops is given up in the end", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", once));
    let turns = 1;
    while (loop.status("r", "only") === "assigned" && turns < 1000) {
      loop.turn(++turns, { kind: "AttemptLost", ...loop.attempt("r", "only"), startedAt: -1 });
    }
    expect(loop.status("r", "only")).toBe("failed");
    expect(turns).toBeLessThan(200);
  });
});
