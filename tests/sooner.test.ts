import { describe, expect, test } from "vitest";
import type { TaskSpec } from "../src/graph/index.ts";
import type { TaskSubmitted } from "../src/ledger/index.ts";
import { type Entry, goesBefore } from "../src/queue/index.ts";
import {
  type Change,
  isWaiting,
  lineBefore,
  type Prospect,
  prospectOf,
  type State,
  type Tasks,
  whyNotYet,
} from "../src/scheduler/index.ts";
import { startAfter } from "./applied-change.ts";
import { aNode, joins, Loop, submits, submitsTask } from "./builders.ts";
import { simulatedBlocks, stateAfter } from "./simulated.ts";

function* waitingTasks(state: State): Generator<readonly [Tasks, number]> {
  for (const run of state.runs.values()) {
    if (run.outcome !== undefined) continue;
    for (let node = 0; node < run.graph.size; node++) if (isWaiting(run, node)) yield [run, node];
  }
  for (const { number } of state.singles.all.values())
    if (isWaiting(state.singles, number)) yield [state.singles, number];
}

/** Every change is made, and the whole state goes on with it and without. */
function check(state: State, tasks: Tasks, node: number, about: string): Prospect | undefined {
  const { now } = state;
  const prospect = prospectOf(state, tasks, node, now);
  if (!prospect) return undefined;
  const without = startAfter(state, tasks, node, now);
  if (prospect.startsAt !== undefined) expect(prospect.startsAt, about).toBe(without);
  for (const { change, startsAt } of prospect.sooner) {
    const start = startAfter(state, tasks, node, now, change);
    const text = `${about}: ${JSON.stringify(change)}`;
    expect(start, text).toBe(startsAt);
    expect(start, text).toBeLessThan(without ?? Number.POSITIVE_INFINITY);
  }
  return prospect;
}

/** What holds it up alone, and somebody can change. */
const CURABLE: readonly string[] = ["Unsatisfiable", "Admission", "Capacity"];

test("of what simulated ledgers have waiting, each change that is said to help does, and by as much as was said", {
  timeout: 300_000,
}, async () => {
  const kinds = new Map<string, number>();
  let curable = 0;
  for (const seed of [2, 4, 8, 9, 10, 11, 12]) {
    const blocks = await simulatedBlocks(seed);
    for (const part of [0.3, 0.7]) {
      const state = stateAfter(blocks.slice(0, Math.floor(part * blocks.length)));
      for (const [tasks, node] of [...waitingTasks(state)].slice(0, 8)) {
        const about = `seed ${seed} at ${state.seq}, task ${tasks.number}/${node}`;
        const prospect = check(state, tasks, node, about);
        if (!prospect) continue;
        for (const { change } of prospect.sooner) kinds.set(change.kind, (kinds.get(change.kind) ?? 0) + 1);
        const codes = whyNotYet(state, tasks, node).flatMap(({ code }) => (code === "Outranked" ? [] : code));
        const [code = ""] = codes;
        // It starts at once anyway; or it would stand behind what waits to be recharged, which nobody can say the end of.
        const isSpecial = prospect.startsAt === state.now + 1 || state.charges.size > 0;
        if (codes.length !== 1 || !CURABLE.includes(code) || isSpecial) continue;
        curable++;
        expect(prospect.sooner.length, `${about}: ${code}`).toBeGreaterThan(0);
      }
    }
  }
  expect(curable).toBeGreaterThan(15);
  for (const kind of ["cancel", "worker", "agent-limit", "limit", "at-once"])
    expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(2);
});

const SPEC: TaskSpec = aNode("any", { estimateMs: 1_000, priority: 2 }).task;

function asks(id: string, spec: Partial<TaskSpec> = {}, more: Partial<TaskSubmitted> = {}): TaskSubmitted {
  return submitsTask(id, { ...SPEC, ...spec }, more);
}

const ROOMY = { cpuMillicores: 100_000, memoryBytes: 100_000 };

/** What would help a task of no run, with when it would start then. */
function helps(loop: Loop, id: string): { startsAt: number | undefined; sooner: [Change, number][] } {
  const single = loop.state.singles.byId(id);
  if (!single) throw new Error(`no task ${id}`);
  const prospect = check(loop.state, loop.state.singles, single.number, id);
  if (!prospect) throw new Error(`too much to be played`);
  const sooner = prospect.sooner.map(({ change, startsAt }): [Change, number] => [change, startsAt]);
  return { startsAt: prospect.startsAt, sooner };
}

describe("what would make a task start sooner:", () => {
  test("its queue, or the whole zone, goes on", () => {
    const loop = new Loop();
    loop.turn(
      1,
      joins("w"),
      { kind: "QueuePaused", zone: "here", executor: "shell" },
      { kind: "QueuePaused", zone: "here", executor: "" },
    );
    loop.turn(2, asks("x"));
    expect(helps(loop, "x")).toEqual({
      startsAt: undefined,
      sooner: [[{ kind: "resume", executors: ["", "shell"] }, 2]],
    });
  });

  test("its agent may run one more, or one of its tasks is cancelled, or the task is more urgent", () => {
    const loop = new Loop();
    loop.turn(1, joins("w", { slots: 9, ...ROOMY }), {
      kind: "AgentConfigured",
      zone: "here",
      agent: "ann",
      max: 2,
    });
    loop.turn(2, asks("a", { estimateMs: 5_000 }), asks("b", { estimateMs: 3_000 }), asks("c"), asks("x"));
    const { startsAt, sooner } = helps(loop, "x");
    expect(startsAt).toBe(4_002);
    expect(sooner).toEqual([
      [{ kind: "agent-limit", agent: "ann", from: 2, to: 3 }, 1_002],
      [{ kind: "cancel", task: { id: "a", zone: "here", agent: "ann", node: undefined } }, 1_002],
      [{ kind: "cancel", task: { id: "b", zone: "here", agent: "ann", node: undefined } }, 1_002],
      [{ kind: "priority", from: "normal", to: "high" }, 3_002],
    ]);
  });

  test("a limit has room for what it counts, be it taken by others or smaller than the task", () => {
    const loop = new Loop();
    const limit = {
      kind: "LimitConfigured",
      zone: "here",
      name: "db",
      rateCount: null,
      ratePeriodMs: 1,
    } as const;
    loop.turn(1, joins("w", { slots: 9, ...ROOMY }), { ...limit, concurrency: 4 });
    loop.turn(
      2,
      asks("a", { limits: ["db"], amounts: [3], estimateMs: 9_000 }),
      asks("x", { limits: ["db"], amounts: [2] }),
      asks("large", { limits: ["db"], amounts: [7] }),
    );
    expect(helps(loop, "x").sooner).toContainEqual([{ kind: "limit", limit: "db", from: 4, to: 5 }, 2]);
    expect(helps(loop, "large")).toEqual({
      startsAt: undefined,
      sooner: [[{ kind: "limit", limit: "db", from: 4, to: 7 }, 9_002]],
    });
  });

  test("a rate admits more, though it opens by itself", () => {
    const loop = new Loop();
    const rate = { rateCount: 1, ratePeriodMs: 10_000 };
    loop.turn(1, joins("w", { slots: 9, ...ROOMY }), {
      kind: "LimitConfigured",
      zone: "here",
      name: "mail",
      concurrency: null,
      ...rate,
    });
    loop.turn(2, asks("a", { limits: ["mail"] }), asks("x", { limits: ["mail"] }));
    const { startsAt, sooner } = helps(loop, "x");
    expect(startsAt).toBe(10_002);
    expect(sooner).toEqual([[{ kind: "rate", limit: "mail", from: 1, to: 2, periodMs: 10_000 }, 2]]);
  });

  test("there are more workers like the smallest that could run it", () => {
    const loop = new Loop();
    loop.turn(1, joins("big", { slots: 4, ...ROOMY }), joins("small"));
    loop.turn(2, ...Array.from({ length: 5 }, (_, at) => asks(`a${at}`, { estimateMs: 60_000 })), asks("x"));
    const { startsAt, sooner } = helps(loop, "x");
    expect(startsAt).toBe(60_002);
    expect(sooner).toContainEqual([{ kind: "worker", count: 1, like: "small", adds: {} }, 2]);
  });

  test("there is a worker like the nearest that also has what no worker has", () => {
    const loop = new Loop();
    loop.turn(
      1,
      joins("far", { executors: ["wasm"], cpuMillicores: 10 }),
      joins("near", { capabilities: ["gpu"] }),
      joins("elsewhere", { zone: "there", capabilities: ["gpu", "net"], ...ROOMY }),
    );
    loop.turn(2, asks("x", { capabilities: ["gpu", "net"], memoryBytes: 1_500 }));
    const adds = { capabilities: ["net"], memoryBytes: 500 };
    expect(helps(loop, "x").sooner).toEqual([[{ kind: "worker", count: 1, like: "near", adds }, 2]]);
    const alone = new Loop();
    alone.turn(1, asks("x"));
    const all = { executor: "shell", cpuMillicores: 100, memoryBytes: 100 };
    expect(helps(alone, "x").sooner).toEqual([[{ kind: "worker", count: 1, like: undefined, adds: all }, 1]]);
  });

  test("all that could run it are draining, so there is another", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), { kind: "DrainRequested", worker: 0 });
    loop.turn(2, asks("x"));
    expect(helps(loop, "x").sooner).toEqual([[{ kind: "worker", count: 1, like: "w", adds: {} }, 2]]);
  });

  test("it is submitted again for now", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"));
    loop.turn(2, asks("x", {}, { runAt: 90_000 }));
    expect(helps(loop, "x")).toEqual({ startsAt: 90_000, sooner: [[{ kind: "at-once", dueAt: 90_000 }, 2]] });
  });

  test("what has used up its budget is recharged, and ends", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"));
    loop.turn(2, asks("a", { budget: [7, 1, 1, 1, 1, 1] }), asks("x"));
    loop.turn(3, { kind: "TaskBudgetExhausted", run: -1, node: 0, attempt: 1, part: "ops", recharges: 0 });
    const { startsAt, sooner } = helps(loop, "x");
    const task = { id: "a", zone: "here", agent: "ann", node: undefined };
    expect(startsAt).toBe(undefined);
    expect(sooner).toContainEqual([{ kind: "recharge", task, part: "ops", amount: 7 }, 1_002]);
  });

  test("where several things stand in the way, all of them are changed", () => {
    const loop = new Loop();
    loop.turn(
      1,
      joins("w"),
      { kind: "QueuePaused", zone: "here", executor: "shell" },
      { kind: "AgentConfigured", zone: "here", agent: "ann", max: 0 },
    );
    loop.turn(2, asks("x"));
    const changes: Change[] = [
      { kind: "resume", executors: ["shell"] },
      { kind: "agent-limit", agent: "ann", from: 0, to: 1 },
    ];
    expect(helps(loop, "x").sooner).toEqual([[{ kind: "together", changes }, 2]]);
  });

  test("what it hangs on starts sooner: the chain is followed to what holds it up", () => {
    const loop = new Loop();
    loop.turn(1, joins("w", { slots: 4, ...ROOMY }), { kind: "QueuePaused", zone: "here", executor: "wasm" });
    loop.turn(2, joins("v", { executors: ["wasm"] }));
    const nodes = [
      aNode("root", { executor: "wasm" }),
      aNode("middle", { needs: ["root"] }),
      aNode("quick", { estimateMs: 10 }),
      aNode("x", { needs: ["quick", "middle"] }),
    ];
    loop.turn(3, submits("r", nodes));
    const prospect = check(loop.state, loop.run("r"), 3, "x");
    expect(prospect?.chain).toEqual([
      { node: "middle", status: "waiting" },
      { node: "root", status: "ready" },
    ]);
    expect(prospect?.because).toMatchObject([{ code: "Held", by: "paused" }]);
    expect(prospect?.sooner).toEqual([{ change: { kind: "resume", executors: ["wasm"] }, startsAt: 2_003 }]);
  });

  test("nothing does, where it waits for a person, or for what runs", () => {
    const loop = new Loop();
    loop.turn(
      1,
      joins("w"),
      submits("r", [aNode("a"), aNode("b", { needs: ["a"] }), aNode("h", { held: true })]),
    );
    const b = check(loop.state, loop.run("r"), 1, "b");
    expect([b?.startsAt, b?.chain, b?.sooner]).toEqual([1_001, [{ node: "a", status: "assigned" }], []]);
    const held = check(loop.state, loop.run("r"), 2, "h");
    expect([held?.startsAt, held?.sooner]).toEqual([undefined, []]);
  });
});

describe("where very much waits", () => {
  /** Ten workers of four, and tasks of five agents and twenty lengths. */
  function longLine(count: number, order: "hrrn" | "classic" | "graph"): Loop {
    const loop = new Loop({ order });
    loop.turn(1, ...Array.from({ length: 10 }, (_, at) => joins(`w${at}`, { slots: 4, ...ROOMY })));
    for (let from = 0; from < count; from += 1_000) {
      const some = Array.from({ length: Math.min(1_000, count - from) }, (_, at) => from + at);
      loop.turn(
        2 + from,
        ...some.map((n) => asks(`t${n}`, { estimateMs: 1_000 * (1 + (n % 20)) }, { agent: `a${n % 5}` })),
      );
    }
    return loop;
  }

  const last = ({ state }: Loop) => [...state.singles.all.values()].at(-1)?.number as number;

  test("the start is told from some of the line, and is about right, as is what would help", () => {
    for (const order of ["hrrn", "classic", "graph"] as const) {
      const { state } = longLine(3_000, order);
      const node = last({ state } as Loop);
      const start = startAfter(state, state.singles, node, state.now) as number;
      const said = prospectOf(state, state.singles, node, state.now);
      const wait = start - state.now;
      const about = (told = 0, truth = 0) => expect(Math.abs(told - truth), order).toBeLessThan(wait / 4);
      about(said?.startsAt, start);
      expect(said?.sooner.length).toBeGreaterThan(0);
      for (const { change, startsAt } of said?.sooner ?? []) {
        const then = startAfter(state, state.singles, node, state.now, change);
        expect(then, `${order}: ${change.kind}`).toBeLessThan(start);
        about(startsAt, then);
      }
    }
  });

  test("some are counted for all, and the first is the first", () => {
    for (const order of ["hrrn", "classic", "graph"] as const) {
      const { state } = longLine(50_000, order);
      const middle = [...state.singles.all.values()][30_000]?.number as number;
      const [first, ahead] = inOrder(state, middle);
      const line = lineBefore(state, state.singles, middle, state.now, 10);
      expect(line.first[0]?.id, order).toBe(first);
      expect(line.isAbout).toBe(true);
      expect(Math.abs(line.count - ahead), order).toBeLessThan(ahead / 8);
    }
  });

  /** The first of those that wait, and how many go before one of them. */
  function inOrder(state: State, number: number): readonly [first: string | undefined, ahead: number] {
    const all = [...state.singles.all.values()].filter(({ node }) => isWaiting(state.singles, node));
    const goesFirst = (a: Entry, b: Entry) => goesBefore(a, false, b, false, state.now, state.config);
    const first = all.reduce((best, one) => (goesFirst(one, best) ? one : best));
    const one = state.singles.get(number);
    return [first.id, all.filter((other) => goesFirst(other, one)).length];
  }
});
