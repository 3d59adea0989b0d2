import { expect, test } from "vitest";
import { aNode, HOUR_MS, joins, Loop, type NodeOptions, submits } from "../../tests/builders.ts";
import { restore, takeSnapshot } from "./index.ts";

/** In which order one slot gets the nodes, when each takes a millisecond however long it was estimated. */
function orderOf(loop: Loop, from: number, told: readonly string[]): string[] {
  const order: string[] = [];
  for (let now = from, texts = told; ; now++) {
    const id = /^TaskAssigned (.*)#1 w$/.exec(
      texts.find((text) => text.startsWith("TaskAssigned")) ?? "",
    )?.[1];
    if (id === undefined) return order;
    order.push(id);
    texts = loop.turn(now + 1, loop.finished("r", id)).texts;
  }
}

function orderIn(nodes: Readonly<Record<string, NodeOptions>>): string[] {
  const loop = new Loop();
  const list = Object.entries(nodes).map(([id, options]) => aNode(id, options));
  return orderOf(loop, 1, loop.turn(1, joins("w"), submits("r", list)).texts);
}

/** In which order a turn gives them out. */
function given(texts: readonly string[]): string[] {
  return texts.flatMap((text) => /^TaskAssigned (.*)#1/.exec(text)?.[1] ?? []);
}

function givenAtOnce(nodes: Readonly<Record<string, NodeOptions>>): string[] {
  const list = Object.entries(nodes).map(([id, options]) => aNode(id, options));
  return given(new Loop().turn(1, joins("w", { slots: 99 }), submits("r", list)).texts);
}

test("[G-04] the critical path goes before priority, priority before risk, risk before the work that hangs on it", () => {
  expect(
    givenAtOnce({
      plain: {},
      long: { estimateMs: 1_500 },
      risky: { risk: "high" },
      urgent: { priority: 1, estimateMs: 1 },
      critical: { priority: 4, risk: "low", estimateMs: 9_000 },
    }),
  ).toEqual(["critical", "urgent", "risky", "long", "plain"]);
});

test("[G-04] when the longest chain is done with, the next longest is critical, whatever its priority", () => {
  expect(
    orderIn({
      urgent: { priority: 0, estimateMs: 1 },
      second: { priority: 4, estimateMs: 500 },
      first: { priority: 4, estimateMs: 900 },
      urgent2: { priority: 0, estimateMs: 2 },
    }),
  ).toEqual(["first", "second", "urgent2", "urgent"]);
});

test("[G-04] a chain that runs keeps others from being critical", () => {
  const loop = new Loop();
  const nodes = [
    aNode("long", { estimateMs: 9_000 }),
    aNode("low", { priority: 4, estimateMs: 800 }),
    aNode("urgent", { priority: 0, estimateMs: 1 }),
  ];
  loop.turn(1, joins("w"), submits("r", nodes));
  expect(loop.status("r", "long")).toBe("assigned");
  expect(loop.turn(2, joins("x")).texts).toEqual(["WorkerRegistered x", "TaskAssigned urgent#1 x"]);
});

test("[G-04] of equals the one that has been ready longer goes first, then the one that was submitted first", () => {
  expect(
    orderIn({
      later: { needs: ["start"], estimateMs: 10 },
      start: { estimateMs: 9_000 },
      b: { estimateMs: 10 },
      a: { estimateMs: 10 },
    }),
  ).toEqual(["start", "b", "a", "later"]);
});

test("[G-04] [P-12] needs of their own do not change the order of a run", () => {
  const own = (cpuMillicores: number, options: NodeOptions) => ({ cpuMillicores, ...options });
  expect(
    givenAtOnce({
      low: own(1, { priority: 3 }),
      urgent: own(2, { priority: 0, estimateMs: 1 }),
      critical: own(3, { priority: 4, estimateMs: 5_000 }),
      risky: own(4, { priority: 3, risk: "critical" }),
    }),
  ).toEqual(["critical", "urgent", "risky", "low"]);
});

const HOURS = { starveNodeMs: 4 * HOUR_MS };

/** `old` is ready from the start; the rest comes ready when `gate` ends, at the time given. */
function orderAfter(waitMs: number): string[] {
  const loop = new Loop(HOURS);
  const nodes = [
    aNode("gate", { estimateMs: 99_000 }),
    aNode("normal", { needs: ["gate"], priority: 2, estimateMs: 70 }),
    aNode("high", { needs: ["gate"], priority: 1, estimateMs: 50 }),
    aNode("old", { priority: 3, estimateMs: 60 }),
    aNode("critical", { needs: ["gate"], priority: 4, estimateMs: 80 }),
    aNode("low", { needs: ["gate"], priority: 3, estimateMs: 75 }),
  ];
  const now = 1 + waitMs;
  loop.turn(1, joins("w"), submits("r", nodes));
  return given(loop.turn(now, loop.finished("r", "gate"), joins("x", { slots: 9 })).texts);
}

test("[G-09] four hours of waiting raise by one level, once, and twenty-four go to the front", () => {
  expect(orderAfter(4 * HOUR_MS)).toEqual(["critical", "high", "normal", "low", "old"]);
  const raised = orderAfter(4 * HOUR_MS + 1);
  expect(raised).toEqual(["critical", "high", "normal", "old", "low"]);
  expect(orderAfter(20 * HOUR_MS)).toEqual(raised);
  expect(orderAfter(24 * HOUR_MS)).toEqual(raised);
  expect(orderAfter(24 * HOUR_MS + 1)[0]).toBe("old");
});

test("[G-09] a raise does not add up, however often it is looked at, and P0 is the ceiling", () => {
  const loop = new Loop(HOURS);
  const nodes = [
    aNode("gate", { estimateMs: 99_000 }),
    aNode("old", { priority: 3, estimateMs: 10 }),
    aNode("top", { priority: 0 }),
    aNode("young", { priority: 1, needs: ["gate"], estimateMs: 10 }),
  ];
  loop.turn(1, joins("w"), submits("r", nodes));
  for (let turn = 0; turn < 9; turn++) {
    loop.turn(2 + 5 * HOUR_MS + turn, {
      kind: "WorkerLoadReported",
      worker: 0,
      loadPermille: 960 - turn * 500,
      saysOverloaded: false,
    });
  }
  const now = 5 * HOUR_MS + 99;
  expect(orderOf(loop, now, loop.turn(now, loop.finished("r", "gate")).texts)).toEqual([
    "top",
    "young",
    "old",
  ]);
});

test("[G-09] what comes back to be tried again has waited since it was first ready, beside others that came since", () => {
  const loop = new Loop(HOURS);
  const nodes = [
    aNode("gate", { estimateMs: 99_000 }),
    aNode("old", { priority: 3, estimateMs: 60, maxAttempts: 2 }),
    aNode("low", { needs: ["gate"], priority: 3, estimateMs: 75 }),
    aNode("critical", { needs: ["gate"], priority: 4, estimateMs: 80 }),
  ];
  loop.turn(1, joins("w"), joins("x"), submits("r", nodes));
  loop.turn(400, { kind: "QueuePaused", zone: "here", executor: "" });
  loop.turn(500, loop.finished("r", "gate"));
  loop.turn(600, loop.failed("r", "old"));
  expect([loop.status("r", "old"), loop.status("r", "low")]).toEqual(["delayed", "ready"]);
  const resumed = { kind: "QueueResumed", zone: "here", executor: "" } as const;
  const { texts } = loop.turn(2 + 4 * HOUR_MS, resumed);
  expect(texts.filter((text) => text.startsWith("TaskAssigned"))).toEqual([
    "TaskAssigned critical#1 w",
    "TaskAssigned old#2 x",
  ]);
});

test("[G-09] [P-15] a state that is restored has the same order", () => {
  const loop = new Loop(HOURS);
  const nodes = [
    aNode("gate", { estimateMs: 99_000 }),
    aNode("old", { priority: 4, estimateMs: 1 }),
    aNode("low", { priority: 3, estimateMs: 500 }),
    aNode("urgent", { priority: 0, needs: ["gate"], estimateMs: 1 }),
  ];
  loop.turn(1, joins("w"), submits("r", nodes));
  loop.turn(30 * HOUR_MS, joins("x", { executors: ["nothing"] }));
  const again = restore(JSON.parse(JSON.stringify(takeSnapshot(loop.state))));
  again.arrangeRuns(30 * HOUR_MS);
  const standing = (state: typeof again) => [...(state.runById("r")?.standing ?? [])].slice(1, 3);
  expect(standing(again)).toEqual(standing(loop.state));
});

test("[G-06] a freed slot is filled at once, whatever else still runs", () => {
  const loop = new Loop();
  const nodes = [aNode("slow", { estimateMs: HOUR_MS }), aNode("fast"), aNode("next"), aNode("after")];
  loop.turn(1, joins("w", { slots: 2 }), submits("r", nodes));
  expect(loop.turn(2, loop.finished("r", "fast")).texts).toContain("TaskAssigned next#1 w");
  expect(loop.turn(3, loop.finished("r", "next")).texts).toContain("TaskAssigned after#1 w");
});

test("[G-09] under an endless stream of critical work an old item starts when it starves", () => {
  const loop = new Loop(HOURS);
  // Each of them is critical when its turn has come, and there is always one more.
  const stream = Array.from({ length: 40 }, (_, at) =>
    aNode(`s${at}`, { estimateMs: HOUR_MS, priority: 0, needs: at === 0 ? [] : [`s${at - 1}`] }),
  );
  const side = stream.map((_, at) =>
    aNode(`t${at}`, { estimateMs: HOUR_MS, priority: 0, needs: at === 0 ? [] : [`t${at - 1}`] }),
  );
  loop.turn(
    1,
    joins("w"),
    submits("r", [...stream, ...side, aNode("old", { priority: 4, estimateMs: HOUR_MS })]),
  );
  let now = 1;
  const running = () => [...stream, ...side].find(({ id }) => loop.status("r", id) === "assigned")?.id;
  for (let id = running(); id; id = running()) {
    now += HOUR_MS;
    loop.turn(now, loop.finished("r", id));
  }
  expect(loop.status("r", "old")).toBe("assigned");
  expect(now).toBe(1 + 25 * HOUR_MS);
});
