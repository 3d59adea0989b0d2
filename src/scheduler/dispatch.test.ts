import { describe, expect, test } from "vitest";
import { aNode, HOUR_MS, joins, Loop, STRATEGIES, submits, type Told } from "../../tests/builders.ts";
import type { SchedulerConfig, TaskAssigned } from "../ledger/index.ts";
import { nextWakeAt, type Stimulus } from "./index.ts";

/** `build → w1`, in the order of assignment. */
function assignments({ texts }: Told): string[] {
  return texts.flatMap((text) => {
    const [, id, worker] = /^TaskAssigned (.*)#\d+ (.*)$/.exec(text) ?? [];
    return id === undefined ? [] : [`${id} → ${worker}`];
  });
}

function assignedEvents({ events }: Told): TaskAssigned[] {
  return events.filter((event) => event.kind === "TaskAssigned");
}

const SIZES = { XS: 1, S: 2, M: 4, L: 8, XL: 16 };
const sized = (id: string, size: keyof typeof SIZES, ...needs: string[]) =>
  aNode(id, { estimateMs: SIZES[size] * HOUR_MS, needs });
/** The example of the planner's specification. */
const EXAMPLE = [
  sized("#1", "M"),
  sized("#2", "S", "#1"),
  sized("#3", "L"),
  sized("#4", "M", "#3"),
  sized("#5", "S", "#2"),
  sized("#6", "XS", "#2"),
  sized("#7", "S"),
];

test("[G-02] the example of the specification: of the ready #1, #3 and #7, #3 goes first, then #1, then #7", () => {
  const loop = new Loop();
  loop.turn(1, submits("r", EXAMPLE));
  const order = ["w1", "w2", "w3", "w4"].flatMap((id, at) => assignments(loop.turn(2 + at, joins(id))));
  expect(order).toEqual(["#3 → w1", "#1 → w2", "#7 → w3"]);
});

test("[G-02] one worker with one slot takes what holds up most of the remaining work", () => {
  const loop = new Loop();
  let now = 1;
  let assigned = assignments(loop.turn(now, joins("w"), submits("r", EXAMPLE)));
  const order: string[] = [];
  while (assigned.length > 0) {
    expect(assigned.length).toBe(1);
    const id = assigned[0]?.split(" ")[0] ?? "";
    order.push(id);
    assigned = assignments(loop.turn(++now, loop.finished("r", id)));
  }
  // #2 and #4 both hold up 4 hours, #5 and #7 both 2: what was ready first goes first.
  expect(order).toEqual(["#3", "#1", "#2", "#4", "#7", "#5", "#6"]);
  expect(loop.run("r").outcome).toBe("completed");
});

test("[P-04] who came while a task might not start takes it when it may, whoever looked for workers meanwhile", () => {
  const loop = new Loop();
  const gpu = [aNode("a", { capabilities: ["gpu"] })];
  const paused = (kind: "QueuePaused" | "QueueResumed") => ({ kind, zone: "here", executor: "" }) as const;
  loop.turn(1, joins("plain"), submits("r", gpu));
  loop.turn(2, paused("QueuePaused"));
  loop.turn(3, joins("with gpu", { capabilities: ["gpu"] }));
  for (const { demand } of loop.state.pools.values()) loop.state.fleet.refresh(demand);
  expect(assignments(loop.turn(4, paused("QueueResumed")))).toEqual(["a → with gpu"]);
});

test("[P-04] a node is not assigned before the last of its dependencies completed", () => {
  const loop = new Loop();
  const nodes = [aNode("a"), aNode("b"), aNode("c", { needs: ["a", "b"] })];
  expect(assignments(loop.turn(1, joins("w", { slots: 3 }), submits("r", nodes)))).toEqual([
    "a → w",
    "b → w",
  ]);
  loop.turn(2, loop.started("r", "a"), loop.started("r", "b"));
  expect(assignments(loop.turn(3, loop.finished("r", "a")))).toEqual([]);
  expect(loop.status("r", "c")).toBe("waiting");
  expect(assignments(loop.turn(4, loop.finished("r", "b")))).toEqual(["c → w"]);
});

test("[P-06] equal tasks go in the order of submission, within a run and across runs", () => {
  const loop = new Loop();
  loop.turn(1, submits("first", [aNode("b"), aNode("a")]), submits("second", [aNode("0")]));
  expect(assignments(loop.turn(2, joins("w", { slots: 3 })))).toEqual(["b → w", "a → w", "0 → w"]);
});

test("[P-06] a more urgent task goes before one that holds up more, also of a later run", () => {
  const loop = new Loop();
  loop.turn(1, submits("r1", [aNode("long", { estimateMs: HOUR_MS }), aNode("low", { priority: 4 })]));
  loop.turn(2, submits("r2", [aNode("urgent", { priority: 0 })]));
  expect(assignments(loop.turn(3, joins("w", { slots: 3 })))).toEqual(["urgent → w", "long → w", "low → w"]);
});

test("[P-09] round robin advances with every decision, not with every completion", () => {
  const loop = new Loop({ strategy: "round-robin" });
  const nodes = Array.from({ length: 5 }, (_, at) => aNode(`n${at}`));
  const told = loop.turn(1, joins("b", { slots: 3 }), joins("a", { slots: 3 }), submits("r", nodes));
  expect(assignments(told)).toEqual(["n0 → a", "n1 → b", "n2 → a", "n3 → b", "n4 → a"]);
  expect(assignedEvents(told).map(({ reason }) => reason)).toEqual(
    [0, 1, 0, 1, 0].map((index) => ({ type: "RoundRobin", index })),
  );
});

test("[P-09] least loaded counts what a worker was given in the same turn", () => {
  const loop = new Loop();
  const nodes = Array.from({ length: 4 }, (_, at) => aNode(`n${at}`));
  const told = loop.turn(1, joins("a", { slots: 3 }), joins("b", { slots: 3 }), submits("r", nodes));
  expect(assignments(told)).toEqual(["n0 → a", "n1 → b", "n2 → a", "n3 → b"]);
});

describe("[P-10] input data is where it was made:", () => {
  /** `use` needs what b made, and what c made and took with it. */
  function story(config: Partial<SchedulerConfig>, ...between: readonly Stimulus[]): Told {
    const loop = new Loop(config);
    const other = aNode("other", { type: "other", estimateMs: 9_000 });
    const nodes = [other, ...["large", "gate"].map((id) => aNode(id, { type: id }))];
    const use = aNode("use", { needs: ["large", "gate"] });
    loop.turn(1, joins("a"), joins("b"), joins("c"), submits("r", [...nodes, use]));
    loop.turn(2, loop.finished("r", "other"), loop.finished("r", "large", 1_000));
    loop.turn(3, ...between);
    return loop.turn(4, loop.finished("r", "gate", 9_000), { kind: "WorkerLost", worker: 2, code: "left" });
  }
  const LOCAL = { type: "Affinity", because: "DataLocality" };

  test("with affinity, or when locality is preferred, the worker that made it is chosen", () => {
    for (const config of [{ strategy: "affinity" }, { preferLocality: true }] as const) {
      const told = story(config);
      expect(assignments(told)).toEqual(["use → b"]);
      expect(assignedEvents(told)[0]?.reason).toEqual(LOCAL);
    }
  });

  test("otherwise nobody asks where it is", () => {
    expect(assignments(story({}))).toEqual(["use → a"]);
  });

  test("a worker that registered again no longer has it", () => {
    const told = story({ preferLocality: true }, joins("b"));
    expect(assignments(told)).toEqual(["use → a"]);
    expect(assignedEvents(told)[0]?.reason).toEqual({ type: "LeastLoaded", queueDepth: 0 });
  });

  test("of two workers that have inputs, affinity takes the one that has more", () => {
    const loop = new Loop({ strategy: "affinity" });
    const nodes = ["small", "large"].map((id) => aNode(id, { type: id }));
    loop.turn(
      1,
      joins("a"),
      joins("b"),
      submits("r", [...nodes, aNode("use", { needs: ["small", "large"] })]),
    );
    loop.turn(2, loop.finished("r", "small", 10));
    const told = loop.turn(3, loop.finished("r", "large", 11));
    expect(assignments(told)).toEqual(["use → b"]);
    expect(assignedEvents(told)[0]?.reason).toEqual(LOCAL);
  });
});

test("[P-12] a task that fits no worker now is passed over, and smaller ones behind it go ahead", () => {
  const loop = new Loop();
  const nodes = [
    aNode("large", { cpuMillicores: 900, estimateMs: HOUR_MS }),
    aNode("small", { cpuMillicores: 300 }),
    aNode("tiny", { cpuMillicores: 200 }),
  ];
  loop.turn(1, joins("w", { slots: 9 }), submits("before", [aNode("x", { cpuMillicores: 300 })]));
  expect(assignments(loop.turn(2, submits("r", nodes)))).toEqual(["small → w", "tiny → w"]);
});

describe("[P-12] a task that was passed over too long", () => {
  /** A worker full of small tasks, a large one that waits, and more small ones behind it. */
  function crowded() {
    const loop = new Loop({ reserveAfterMs: 100 });
    const small = (id: string) => aNode(id, { cpuMillicores: 500, estimateMs: 50, priority: 2 });
    loop.turn(0, joins("w", { slots: 9 }), submits("a", [small("s1"), small("s2")]));
    loop.turn(10, submits("b", [aNode("large", { cpuMillicores: 1_000, priority: 0 })]));
    loop.turn(20, submits("c", [small("s3"), small("s4"), small("s5"), small("s6")]));
    return loop;
  }

  test("is still passed over before its time", () => {
    const loop = crowded();
    expect(assignments(loop.turn(109, loop.finished("a", "s1")))).toEqual(["s3 → w"]);
  });

  test("gets a worker that later, smaller ones may not eat, and starts there in the end", () => {
    const loop = crowded();
    expect(loop.turn(110).texts).toEqual(["ReservationMade large w"]);
    expect(loop.turn(111, loop.finished("a", "s1")).texts).toEqual(
      ["AttemptFinished s1#1", "RunEnded completed"].slice(0, 1),
    );
    expect(assignments(loop.turn(112, loop.finished("a", "s2")))).toEqual(["large → w"]);
    expect(loop.state.fleet.reservations.size).toBe(0);
    expect(assignments(loop.turn(113, loop.finished("b", "large")))).toEqual(["s3 → w", "s4 → w"]);
  });

  test("is reserved for at the moment that was announced", () => {
    const loop = crowded();
    expect(nextWakeAt(loop.state)).toBe(110);
    expect(loop.turn(109).texts).toEqual([]);
    expect(loop.turn(110).events).toMatchObject([{ kind: "ReservationMade", freeAt: 110 }]);
  });

  test("goes to the worker that should have room first, by the estimates of what it holds", () => {
    const loop = new Loop({ reserveAfterMs: 100 });
    const filler = (id: string, estimateMs: number) => aNode(id, { cpuMillicores: 600, estimateMs });
    loop.turn(0, joins("a"), joins("b"), submits("r", [filler("long", 9_000), filler("short", 500)]));
    loop.turn(1, submits("big", [aNode("large", { cpuMillicores: 1_000 })]));
    expect(loop.turn(101).events).toMatchObject([{ kind: "ReservationMade", worker: 1, freeAt: 500 }]);
  });

  test("loses its reservation with the worker and gets another", () => {
    const loop = new Loop({ reserveAfterMs: 100 });
    const filler = (id: string) => aNode(id, { cpuMillicores: 600 });
    loop.turn(0, joins("a"), joins("b"), submits("r", [filler("f1"), filler("f2")]));
    loop.turn(1, submits("s", [aNode("large", { cpuMillicores: 1_000 })]));
    expect(loop.turn(101).texts).toEqual(["ReservationMade large a"]);
    const { texts } = loop.turn(120, { kind: "DrainRequested", worker: 0 });
    expect(texts).toEqual(["DrainRequested a", "ReservationMade large b"]);
  });

  test("gives its worker back when it is cancelled", () => {
    const loop = crowded();
    loop.turn(110);
    loop.turn(111, loop.finished("a", "s1"));
    const told = loop.turn(112, { kind: "CancelRequested", run: loop.run("b").number, node: -1 });
    expect(assignments(told)).toEqual(["s3 → w"]);
  });

  test("may start elsewhere when another worker has room earlier", () => {
    const loop = crowded();
    loop.turn(110);
    const told = loop.turn(111, joins("z", { slots: 9 }));
    expect(assignments(told)).toEqual(["large → z"]);
    expect(loop.state.fleet.reservations.size).toBe(0);
  });
});

test("[P-12] there is one reservation for each executor and zone", () => {
  const loop = new Loop({ reserveAfterMs: 100 });
  const large = (id: string, executor: string) => aNode(id, { cpuMillicores: 1_000, executor });
  const filler = (id: string, executor: string) => aNode(id, { cpuMillicores: 600, executor, priority: 0 });
  loop.turn(
    0,
    ...["a", "b"].map((id) => joins(id)),
    ...["c", "d"].map((id) => joins(id, { executors: ["wasm"] })),
    submits("r", [filler("f1", "shell"), filler("f2", "shell"), filler("f3", "wasm"), filler("f4", "wasm")]),
    submits("s", [large("l1", "shell"), large("l2", "shell"), large("l3", "wasm")]),
  );
  expect(loop.turn(100).texts).toEqual(["ReservationMade l1 a", "ReservationMade l3 c"]);
  expect(loop.turn(200).texts).toEqual([]);
});

test("[P-08] a draining worker gets nothing new and finishes what it has", () => {
  const loop = new Loop();
  loop.turn(1, joins("w", { slots: 2 }), submits("r", [aNode("a"), aNode("b", { needs: ["a"] })]));
  loop.turn(2, { kind: "DrainRequested", worker: 0 });
  expect(loop.status("r", "a")).toBe("assigned");
  expect(loop.turn(3, loop.finished("r", "a")).texts).toEqual(["AttemptFinished a#1"]);
  expect(assignments(loop.turn(4, joins("w")))).toEqual(["b → w"]);
});

test("[P-08] an overloaded worker gets nothing new until it is relieved, and then what was waiting", () => {
  const loop = new Loop({ overloadedAtPermille: 900, relievedBelowPermille: 700 });
  const load = (loadPermille: number) =>
    ({ kind: "WorkerLoadReported", worker: 0, loadPermille, saysOverloaded: false }) as const;
  loop.turn(1, joins("w"), load(900));
  expect(loop.turn(2, submits("r", [aNode("a")])).texts).toEqual(["RunSubmitted"]);
  expect(loop.turn(3, load(700)).texts).toEqual([]);
  expect(assignments(loop.turn(4, load(699)))).toEqual(["a → w"]);
});

test("[P-08] heartbeats that change no status are not recorded", () => {
  const loop = new Loop();
  loop.turn(1, joins("w"));
  for (const loadPermille of [0, 100, 899]) {
    const told = loop.turn(2, { kind: "WorkerLoadReported", worker: 0, loadPermille, saysOverloaded: false });
    expect(told.events).toEqual([]);
    expect(told.replies).toEqual([{ accepted: true, throttle: false }]);
  }
});

test("[P-08] what an unreachable worker had is placed again as a new attempt", () => {
  const loop = new Loop();
  loop.turn(1, joins("a"), joins("b"), submits("r", [aNode("x", { maxAttempts: 2, backoffMs: 5_000 })]));
  const told = loop.turn(2, { kind: "WorkerLost", worker: 0, code: "lease" });
  expect(told.texts).toEqual(["WorkerLost a", "TaskRetried x", "TaskAssigned x#2 b"]);
});

test("[P-08] a worker that registers again begins with nothing: what it had is placed again", () => {
  const loop = new Loop();
  loop.turn(1, joins("a"), submits("r", [aNode("x", { maxAttempts: 2 })]));
  const told = loop.turn(2, joins("a", { slots: 2 }));
  expect(told.texts).toEqual(["WorkerRegistered a", "TaskRetried x", "TaskAssigned x#2 a"]);
  expect(loop.state.fleet.workers.length).toBe(1);
});

test("[P-11] the event holds the reason, the runner-up and how many were rejected for what", () => {
  const loop = new Loop();
  loop.turn(1, joins("a"), joins("b"), joins("c", { executors: ["wasm"] }), joins("d", { cpuMillicores: 1 }));
  const told = loop.turn(2, submits("r", [aNode("x")]));
  expect(assignedEvents(told)).toMatchObject([
    {
      worker: 0,
      runnerUp: 1,
      reason: { type: "LeastLoaded", queueDepth: 0 },
      rejected: [1, 0, 0, 0, 0, 0, 0, 0, 1],
    },
  ]);
});

test.each(STRATEGIES)("[P-01] %s chooses the same workers, whoever registered first", (strategy) => {
  const nodes = Array.from({ length: 20 }, (_, at) => aNode(`n${at}`, { type: `t${at % 3}` }));
  const play = (ids: readonly string[]) => {
    const loop = new Loop({ strategy });
    return assignments(loop.turn(1, ...ids.map((id) => joins(id, { slots: 4 })), submits("r", nodes)));
  };
  const ids = ["w9", "w10", "a", "Z", "ä", "\u{1f600}"];
  expect(play(ids)).toEqual(play(ids.toReversed()));
});

describe("a turn without stimuli could decide something", () => {
  test("when a retry falls due", () => {
    const loop = new Loop();
    loop.turn(0, joins("w"), submits("r", [aNode("x", { maxAttempts: 2, backoffMs: 70 })]));
    loop.turn(10, loop.failed("r", "x"));
    expect(nextWakeAt(loop.state)).toBe(80);
    expect(assignments(loop.turn(80))).toEqual(["x → w"]);
    expect(nextWakeAt(loop.state)).toBeUndefined();
  });

  test("but not again at a time that has passed, although nothing could be decided then", () => {
    const loop = new Loop({ reserveAfterMs: 100 });
    loop.turn(0, submits("r", [aNode("x"), aNode("y", { cpuMillicores: 7 })]));
    expect(nextWakeAt(loop.state)).toBe(100);
    expect(loop.turn(100).texts).toEqual([]);
    expect(nextWakeAt(loop.state, 100)).toBeUndefined();
  });

  test("and never while nothing waits", () => {
    const loop = new Loop();
    expect(nextWakeAt(loop.state)).toBeUndefined();
    loop.turn(0, joins("w"), submits("r", [aNode("x")]));
    expect(nextWakeAt(loop.state)).toBeUndefined();
  });
});

test("[Q-11] what was passed over goes first as soon as a worker is no longer kept from it, in the same turn", () => {
  const loop = new Loop({ reserveAfterMs: 0, maxQueuePerWorker: 3 });
  loop.turn(
    1,
    joins("plain", { executors: ["shell", "wasm"], cpuMillicores: 3_000 }),
    joins("special", { capabilities: ["gpu"] }),
  );
  const long = aNode("long", { cpuMillicores: 3_000, estimateMs: 10_000 });
  const short = aNode("short", { cpuMillicores: 600, capabilities: ["gpu"] });
  loop.turn(2, submits("busy", [long, short]));
  loop.turn(3, submits("kept", [aNode("first", { cpuMillicores: 900, priority: 0 })]));
  const wasm = { executor: "wasm" } as const;
  const never = aNode("never", { ...wasm, cpuMillicores: 9_000 });
  loop.turn(4, submits("wasm", [aNode("other", { ...wasm, cpuMillicores: 500 }), never]));
  expect([...loop.state.fleet.reservations.values()].map(({ id }) => id)).toEqual(["special", "plain"]);
  const second = aNode("second", { capabilities: ["gpu"], priority: 1 });
  loop.turn(5, submits("small", [second, aNode("third", { priority: 2 })]));
  expect(loop.turn(6, loop.finished("busy", "long")).texts.slice(1)).toEqual([
    "TaskAssigned other#1 plain",
    "TaskAssigned first#1 plain",
    "TaskAssigned second#1 special",
    "TaskAssigned third#1 plain",
  ]);
});

test("a worker that is kept free for what is then paused takes other work", () => {
  const loop = new Loop({ reserveAfterMs: 0 });
  loop.turn(1, joins("w", { executors: ["shell", "wasm"], slots: 4 }));
  loop.turn(2, submits("busy", [aNode("small", { cpuMillicores: 500 })]));
  loop.turn(3, submits("kept", [aNode("whole", { cpuMillicores: 1_000 })]));
  const other = submits("other", [aNode("wasm", { executor: "wasm" })]);
  expect(loop.turn(4, other).texts).toEqual(["RunSubmitted"]);
  expect(loop.turn(5, { kind: "QueuePaused", zone: "here", executor: "shell" }).texts).toEqual([
    "QueuePaused",
    "TaskAssigned wasm#1 w",
  ]);
});
