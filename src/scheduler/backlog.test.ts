import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { anyPlay, perform } from "../../tests/any-play.ts";
import { aNode, joins, Loop, type NodeOptions, submits, submitsTask } from "../../tests/builders.ts";
import type { TaskSubmitted } from "../ledger/index.ts";
import { Line } from "../queue/index.ts";
import { backlog, type State, Status, type Stimulus, type Tasks, type WaitCode, whyNotYet } from "./index.ts";

const NOTHING: Readonly<Record<WaitCode, number>> = {
  Unsatisfiable: 0,
  Held: 0,
  NotDue: 0,
  Dependencies: 0,
  Admission: 0,
  Capacity: 0,
  Outranked: 0,
  Pending: 0,
};

let made = 0;

function task({
  runAt = -1,
  zone = "here",
  ...spec
}: Partial<Pick<TaskSubmitted, "runAt" | "zone">> & NodeOptions = {}): TaskSubmitted {
  return submitsTask(`t${++made}`, spec, { zone, runAt });
}

function reasonsAfter(loop: Loop, now: number, ...stimuli: readonly Stimulus[]): object {
  loop.turn(now, ...stimuli);
  return backlog(loop.state, now).byReason;
}

describe("what waits is counted by the reason that comes first:", () => {
  test("nobody can run it, until there is a worker", () => {
    const loop = new Loop();
    expect(reasonsAfter(loop, 1, task(), task({ runAt: 500 }))).toEqual({ ...NOTHING, Unsatisfiable: 2 });
    expect(reasonsAfter(loop, 2, joins("w"))).toEqual({ ...NOTHING, NotDue: 1 });
    expect(reasonsAfter(loop, 3, task(), task())).toEqual({ ...NOTHING, NotDue: 1, Capacity: 2 });
    expect(reasonsAfter(loop, 4, { kind: "DrainRequested", worker: 0 })).toEqual({ ...NOTHING, Held: 3 });
  });

  test("a pause, an agent's share, a limit", () => {
    const loop = new Loop({ fairShare: 1 });
    loop.turn(1, joins("w", { slots: 9 }), task(), task());
    expect(backlog(loop.state, 1).byReason).toEqual({ ...NOTHING, Admission: 1 });
    const pause = { kind: "QueuePaused", zone: "here", executor: "" } as const;
    expect(reasonsAfter(loop, 2, pause)).toEqual({ ...NOTHING, Held: 1 });
  });

  test("nodes wait for others, for a person, or for their time", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a", { maxAttempts: 2, backoffMs: 50 }),
      aNode("b", { needs: ["a"] }),
      aNode("c", { held: true }),
    ];
    loop.turn(1, joins("w"), submits("r", nodes));
    expect(reasonsAfter(loop, 2, loop.failed("r", "a"))).toEqual({
      ...NOTHING,
      Dependencies: 1,
      Held: 1,
      NotDue: 1,
    });
  });

  test("in one zone, or in all", () => {
    const loop = new Loop();
    loop.turn(1, task(), task({ zone: "there" }));
    expect(backlog(loop.state, 1).byReason.Unsatisfiable).toBe(2);
    expect(backlog(loop.state, 1, "there").byReason.Unsatisfiable).toBe(1);
    expect(backlog(loop.state, 1, "nowhere").byReason).toEqual(NOTHING);
  });
});

test("classes count what is ready and what runs, and know the oldest", () => {
  const loop = new Loop({ order: "hrrn" });
  loop.turn(10, joins("w", { slots: 1 }), task());
  loop.turn(20, task({ priority: 0 }), task(), task({ runAt: 5_000 }));
  loop.turn(30, submits("r", [aNode("a"), aNode("b"), aNode("c", { needs: ["a"] })]));
  expect(backlog(loop.state, 40).classes).toEqual([
    { ready: 1, running: 0, oldestReadyAt: 20 },
    { ready: 3, running: 1, oldestReadyAt: 20 },
    { ready: 0, running: 0, oldestReadyAt: -1 },
  ]);
});

test("in any story the counts are those of asking every task", () => {
  fc.assert(
    fc.property(anyPlay, fc.constantFrom("hrrn", "classic", "graph"), (story, order) => {
      const loop = new Loop({ ...story.config, order });
      perform(loop, story, (_, now) => {
        const { byReason, classes } = backlog(loop.state, now);
        expect(byReason).toEqual(askedOneByOne(loop.state, now));
        expect(classes.reduce((sum, { running }) => sum + running, 0)).toBe(loop.state.fleet.heldTotal);
      });
    }),
    { seed: 1, numRuns: 60 },
  );
});

test("nobody in a line is looked at, however many wait", () => {
  const loop = new Loop({ order: "hrrn" });
  loop.turn(1, ...Array.from({ length: 2_000 }, () => task()));
  const entries = vi.spyOn(Line.prototype, "entries").mockImplementation(() => {
    throw new Error("all of a line was looked at");
  });
  expect(backlog(loop.state, 10).byReason).toEqual({ ...NOTHING, Unsatisfiable: 2_000 });
  entries.mockRestore();
});

/** A node that waits for others, for a person or for its time counts as that, whatever comes first. */
function askedOneByOne(state: State, now: number): Record<WaitCode, number> {
  const counts = { ...NOTHING };
  const ask = (tasks: Tasks, node: number) => {
    const codes = whyNotYet(state, tasks, node, now).map(({ code }) => code);
    const status = tasks.statusOf(node);
    const own = status === Status.waiting ? "Dependencies" : status === Status.held ? "Held" : undefined;
    const first = own ?? (tasks.number >= 0 && codes.includes("NotDue") ? "NotDue" : codes[0]);
    if (first) counts[first]++;
  };
  for (const run of state.runs.values()) for (const node of run.status.keys()) ask(run, node);
  for (const { node } of state.singles.all.values()) ask(state.singles, node);
  return counts;
}
