import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits, type Told } from "../../tests/builders.ts";
import { DataPlay, MIB } from "../../tests/data-play.ts";
import { expectReplayed } from "../../tests/replayed.ts";
import type { NodeSpec } from "../graph/index.ts";
import type { NodesRecomputed } from "../ledger/index.ts";
import { Status, zonedKey } from "./index.ts";

function told({ texts }: Told, ...kinds: string[]): string[] {
  return texts.filter((text) => kinds.some((kind) => text.startsWith(kind)));
}

function freed({ events }: Told): number[] {
  return events.flatMap((event) => (event.kind === "ChunksFreed" ? event.nodes : []));
}

const held = (loop: Loop, node: string, bytes = MIB) =>
  ({ ...loop.finished("r", node, bytes), costMicros: 0, held: true }) as const;

describe("[D-09] results on workers are freed when no unfinished node needs them", () => {
  test("after the last reader, whatever became of it; what is kept stays until it is released", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a"),
      aNode("b", { inputs: ["a"] }),
      aNode("c", { inputs: ["a"], keep: true }),
      aNode("d", { inputs: ["b"] }),
    ];
    loop.turn(1, joins("w", { slots: 4 }), submits("r", nodes));
    loop.turn(2, held(loop, "a"));
    expect(freed(loop.turn(3, held(loop, "b")))).toEqual([]);
    expect(freed(loop.turn(4, held(loop, "c")))).toEqual([0]);
    expect(freed(loop.turn(5, loop.failed("r", "d")))).toEqual([1]);
    expect(loop.run("r").outcome).toBe("failed");
    const run = loop.run("r").number;
    expect(freed(loop.turn(6, { kind: "RunReleased", run }))).toEqual([2]);
    expect(loop.turn(7, { kind: "RunReleased", run }).replies).toEqual([{ accepted: false, code: "stale" }]);
  });

  test("what nobody reads and nobody asked for goes at once", () => {
    const loop = new Loop();
    loop.turn(1, joins("w", { slots: 2 }), submits("r", [aNode("a"), aNode("b", { inputs: ["a"] })]));
    loop.turn(2, held(loop, "a"));
    expect(freed(loop.turn(3, held(loop, "b")))).toEqual([0, 1]);
  });

  test("small results are with their tasks: nothing is to be freed", () => {
    const loop = new Loop();
    loop.turn(1, joins("w", { slots: 2 }), submits("r", [aNode("a"), aNode("b", { inputs: ["a"] })]));
    loop.turn(2, loop.finished("r", "a", 10));
    expect(freed(loop.turn(3, loop.finished("r", "b", 10)))).toEqual([]);
  });
});

describe("[D-10] what was lost with a worker is made again, and only what is needed", () => {
  const CHAIN = [
    aNode("a"),
    aNode("b", { inputs: ["a"] }),
    aNode("c", { inputs: ["b"] }),
    aNode("d", { inputs: ["c"] }),
  ];

  test("the lost result and, of what led to it, what was freed", () => {
    const loop = new Loop();
    loop.turn(1, joins("w1"), joins("w2"), submits("r", CHAIN));
    loop.turn(2, held(loop, "a"));
    loop.turn(3, held(loop, "b"));
    loop.turn(4, held(loop, "c"));
    const worker = loop.run("r").workerOf(2);
    const lost = loop.turn(5, { kind: "WorkerLost", worker, code: "lease" });
    expect((lost.events.find(({ kind }) => kind === "NodesRecomputed") as NodesRecomputed).nodes).toEqual([
      0, 1, 2,
    ]);
    expect(told(lost, "TaskAssigned")).toEqual(
      ["a", "b", "c", "d"].map((node) => `TaskAssigned ${node}#2 w2`),
    );
    for (const node of ["a", "b", "c", "d"]) loop.turn(6, held(loop, node));
    expect(loop.run("r").outcome).toBe("completed");
  });

  test("not what another worker has a copy of", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a"),
      aNode("x", { capabilities: ["far"] }),
      aNode("y", { inputs: ["a"], capabilities: ["far"] }),
      aNode("z", { inputs: ["a", "y"], capabilities: ["far"] }),
    ];
    loop.turn(1, joins("w1"), submits("r", nodes));
    loop.turn(2, held(loop, "a"), joins("w2", { capabilities: ["far"] }));
    loop.turn(3, held(loop, "y"));
    const lost = loop.turn(4, { kind: "WorkerLost", worker: 0, code: "lease" });
    expect(told(lost, "NodesRecomputed")).toEqual([]);
  });

  test("what a worker did not have counts like a loss, three times, and then against the node", () => {
    const loop = new Loop();
    loop.turn(1, joins("w1"), submits("r", CHAIN));
    const loses = { kind: "ChunkLost", run: 0, node: 0, worker: 0 } as const;
    for (let time = 1; time <= 3; time++) {
      loop.turn(2 * time, held(loop, "a"));
      const lost = loop.turn(
        2 * time + 1,
        { ...loop.attempt("r", "b"), kind: "AttemptLost", startedAt: -1 },
        loses,
      );
      if (time < 3) expect(told(lost, "TaskAssigned a", "NodesRecomputed")).toHaveLength(2);
    }
    expect([loop.status("r", "a"), loop.status("r", "b")]).toEqual(["failed", "skipped"]);
    expect(loop.turn(8, loses).replies).toEqual([{ accepted: false, code: "stale" }]);
  });

  test("a task that is lost three times with its worker is failed as the likely cause", () => {
    const loop = new Loop();
    loop.turn(1, submits("r", CHAIN));
    for (let time = 1; time <= 3; time++) {
      loop.turn(1 + time, joins(`w${time}`));
      expect(loop.status("r", "a")).toBe("assigned");
      loop.turn(1 + time, { kind: "WorkerLost", worker: time - 1, code: "lease" });
    }
    const failed = loop.blocks.at(-1)?.line ?? "";
    expect(failed).toContain('"poison"');
    expect(loop.run("r").outcome).toBe("failed");
  });
});

describe("[D-12] with a node that is cancelled goes what nobody else needs", () => {
  const cancels = (loop: Loop, node: string) =>
    ({ kind: "CancelRequested", run: 0, node: loop.attempt("r", node).node }) as const;
  const ENDS = ["TaskCancelled", "TasksSkipped", "CancelSignalled"];

  test("what was to be made for it, and for that, also where it runs already", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a"),
      aNode("way", { inputs: ["a"] }),
      aNode("shared"),
      aNode("kept", { keep: true }),
      aNode("first", { needs: ["way"] }),
      aNode("b", { inputs: ["way", "shared", "kept"], needs: ["first"] }),
      aNode("c", { inputs: ["b", "only"] }),
      aNode("only", { inputs: ["way"] }),
      aNode("d", { inputs: ["shared"] }),
    ];
    loop.turn(1, joins("w", { slots: 4 }), submits("r", nodes));
    expect(loop.status("r", "a")).toBe("assigned");
    expect(told(loop.turn(2, cancels(loop, "b")), ...ENDS)).toEqual([
      "TaskCancelled b",
      "TasksSkipped b",
      "TaskCancelled only",
    ]);
    expect(told(loop.turn(3, cancels(loop, "shared")), ...ENDS)).toEqual(["CancelSignalled shared#1"]);
    expectReplayed(loop);
  });

  test("as soon as it has stopped, where it runs", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a"),
      aNode("b", { inputs: ["a"] }),
      aNode("c", { inputs: ["b", "far"] }),
      aNode("far", { capabilities: ["far"], inputs: ["before"] }),
      aNode("before", { capabilities: ["far"] }),
    ];
    loop.turn(1, joins("w"), joins("x", { capabilities: ["far"] }), submits("r", nodes));
    loop.turn(2, held(loop, "a"));
    expect(told(loop.turn(3, cancels(loop, "b")), ...ENDS)).toEqual(["CancelSignalled b#1"]);
    const stopped = { kind: "AttemptCancelled", ...loop.attempt("r", "b"), startedAt: 2 } as const;
    expect(told(loop.turn(4, stopped), ...ENDS)).toEqual([
      "TaskCancelled b",
      "TasksSkipped b",
      "TaskCancelled far",
      "CancelSignalled before#1",
    ]);
    const rest = { kind: "AttemptCancelled", ...loop.attempt("r", "before"), startedAt: 2 } as const;
    loop.turn(5, rest);
    expect(loop.run("r").outcome).toBe("failed");
    expectReplayed(loop);
  });

  test("not in a run whose nodes hand no data to each other: they may have been meant for more", () => {
    const loop = new Loop();
    loop.turn(1, submits("r", [aNode("a"), aNode("b", { needs: ["a"] })]));
    expect(told(loop.turn(2, cancels(loop, "b")), ...ENDS)).toEqual(["TaskCancelled b"]);
  });
});

describe("what the simulator found", () => {
  const lose = (loop: Loop, worker: string) =>
    ({
      kind: "WorkerLost",
      worker: loop.state.fleet.named("here", worker)?.number ?? -1,
      code: "lease",
    }) as const;
  const of = (capability: string) => ({ capabilities: [capability] });
  const TWO = [
    joins("w1", { slots: 4, capabilities: ["one"] }),
    joins("w2", { slots: 4, capabilities: ["two"] }),
  ];

  test("[D-10] what is made again waits for an input that is made again already", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a", of("one")),
      aNode("b", { inputs: ["a"], ...of("two") }),
      aNode("c", { inputs: ["a"], ...of("three") }),
      aNode("d", { inputs: ["b"], ...of("three") }),
    ];
    loop.turn(1, ...TWO, submits("r", nodes));
    loop.turn(2, held(loop, "a"));
    loop.turn(3, held(loop, "b"));
    loop.turn(4, lose(loop, "w1"), { kind: "ChunkLost", run: 0, node: 0, worker: 1 });
    const lost = loop.turn(5, lose(loop, "w2"), joins("w2", { capabilities: ["two"] }));
    expect(told(lost, "NodesRecomputed", "TaskAssigned")).toEqual(["NodesRecomputed"]);
    expect(loop.status("r", "b")).toBe("waiting");
    expectReplayed(loop);
  });

  test("a node on a worker is not skipped when an input that is made again fails, but not tried again either", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a", { ...of("one"), maxAttempts: 1 }),
      aNode("b", { inputs: ["a"], ...of("two"), maxAttempts: 3 }),
      aNode("c", { inputs: ["b"] }),
    ];
    loop.turn(1, ...TWO, submits("r", nodes));
    loop.turn(2, held(loop, "a"));
    loop.turn(3, lose(loop, "w1"));
    loop.turn(4, joins("w1", { capabilities: ["one"] }));
    loop.turn(5, { ...loop.failed("r", "a"), retry: false });
    expect([loop.status("r", "a"), loop.status("r", "b")]).toEqual(["failed", "assigned"]);
    loop.turn(6, loop.failed("r", "b"));
    expect([loop.status("r", "b"), loop.status("r", "c")]).toEqual(["skipped", "skipped"]);
    expect(loop.run("r").outcome).toBe("failed");
    expectReplayed(loop);
  });

  test("[D-10] what was made of something that will never be there again is not made again when it is lost", () => {
    const loop = new Loop();
    const held = (node: string) => ({ ...loop.finished("r", node, 1), costMicros: 0, held: true }) as const;
    const nodes = [aNode("a"), aNode("b", { inputs: ["a"], keep: true }), aNode("c", { inputs: ["b"] })];
    loop.turn(1, joins("w1", { slots: 1 }), submits("r", nodes));
    loop.turn(2, { kind: "DrainRequested", worker: 0 }, joins("w2", { slots: 2 }));
    loop.turn(3, { ...held("a"), tookMicros: 60_000_000 });
    loop.turn(4, { kind: "WorkerLost", worker: 0, code: "lease" });
    loop.turn(5, { ...held("b"), tookMicros: 60_000_000 });
    loop.turn(6, { kind: "CancelRequested", run: 0, node: 0 });
    loop.turn(7, { ...loop.attempt("r", "a"), kind: "AttemptCancelled" });
    expect([loop.status("r", "a"), loop.status("r", "b")]).toEqual(["cancelled", "completed"]);
    loop.turn(8, { kind: "WorkerLost", worker: 1, code: "lease" });
    expect([loop.status("r", "b"), loop.status("r", "c")]).toEqual(["skipped", "skipped"]);
    expect(loop.run("r").outcome).toBe("failed");
    expectReplayed(loop);
  });

  test("[D-05] roots are given to whoever can run them, whosever part of the order they stand in", () => {
    const loop = new Loop();
    const roots = [...new Array(8).keys()].map((at) => aNode(`a${at}`, of(at < 4 ? "two" : "one")));
    const nodes = [...roots, aNode("z", { inputs: roots.map(({ id }) => id) })];
    const { texts } = loop.turn(1, ...TWO, submits("r", nodes));
    expect(texts.filter((text) => text.startsWith("TaskAssigned"))).toHaveLength(8);
  });

  test("[D-03] a result is not known by inputs that were made again while it was made", () => {
    const loop = new Loop();
    const nodes = [
      aNode("a", of("one")),
      aNode("b", { inputs: ["a"], ...of("two"), requestHash: "b", cache: "1" }),
      aNode("c", { inputs: ["a"], ...of("three") }),
    ];
    loop.turn(1, ...TWO, submits("r", nodes));
    loop.turn(2, { ...held(loop, "a"), resultHash: "first" });
    loop.turn(3, lose(loop, "w1"), joins("w1", { capabilities: ["one"] }));
    loop.turn(4, { ...held(loop, "a"), resultHash: "second" });
    loop.turn(5, loop.finished("r", "b", 10, "from the first"));
    expect(loop.run("r").data?.holders.get(0)).toEqual([0]);
    expect(loop.state.cache.toSnapshot()).toEqual([]);
    expectReplayed(loop);
  });
});

describe("nodes are given to the worker that makes their inputs, ahead of these", () => {
  const LINE = [...new Array(20).keys()].map((at) =>
    aNode(`n${at}`, { inputs: at === 0 ? [] : [`n${at - 1}`] }),
  );

  /** The first has ended, so it is known that such nodes are short, and the rest is on the worker. */
  function inLine(): Loop {
    const loop = new Loop({ fairShare: 1 });
    loop.turn(1, joins("w1"), joins("w2"), submits("r", LINE));
    const { texts } = loop.turn(2, loop.finished("r", "n0"));
    expect(texts.filter((text) => text.startsWith("TaskAssigned"))).toHaveLength(19);
    return loop;
  }

  test("as many as take a short time; each takes the place of the one before", () => {
    const loop = inLine();
    for (let at = 1; at < 20; at++) {
      expect(loop.state.shares.running(zonedKey("here", "ann"))).toBe(1);
      loop.turn(3, loop.finished("r", `n${at}`));
    }
    expect(loop.run("r").outcome).toBe("completed");
    expectReplayed(loop);
  });

  test("they are withdrawn when the input is not made there, and not counted as tried", () => {
    const loop = inLine();
    const failed = loop.turn(3, { ...loop.failed("r", "n1"), retry: false });
    expect(failed.texts.slice(0, 2)).toEqual(["TasksWithdrawn", "AttemptFailed n1#1"]);
    expect(loop.run("r").outcome).toBe("failed");
    expect(loop.state.worker(0).ahead.size).toBe(0);
    expectReplayed(loop);
  });

  test("a worker that says it has finished what cannot have begun is not believed", () => {
    const loop = inLine();
    expect(loop.turn(3, loop.finished("r", "n2")).replies).toEqual([{ accepted: false, code: "stale" }]);
  });

  test("one of them can be cancelled, and those behind it are withdrawn", () => {
    const loop = inLine();
    loop.turn(3, { kind: "CancelRequested", run: 0, node: 5 });
    loop.turn(4, loop.finished("r", "n1"));
    loop.turn(5, { ...loop.attempt("r", "n5"), kind: "AttemptCancelled", startedAt: -1 });
    expect([loop.status("r", "n5"), loop.status("r", "n6")]).toEqual(["cancelled", "skipped"]);
    for (const node of ["n2", "n3", "n4"]) loop.turn(6, loop.finished("r", node));
    expect(loop.run("r").outcome).toBe("failed");
    expectReplayed(loop);
  });

  test("what was told to stop is cancelled when the input is not made there", () => {
    const loop = inLine();
    loop.turn(3, { kind: "CancelRequested", run: 0, node: 5 });
    const failed = loop.turn(4, { ...loop.attempt("r", "n1"), kind: "AttemptLost", startedAt: -1 });
    expect(told(failed, "TasksWithdrawn", "TaskCancelled", "TasksSkipped")).toEqual([
      "TasksWithdrawn",
      "TaskCancelled n5",
      "TasksSkipped n5",
    ]);
    for (const node of ["n1", "n2", "n3", "n4"]) loop.turn(5, loop.finished("r", node));
    expect(loop.run("r").outcome).toBe("failed");
    expectReplayed(loop);
  });

  test("none is given ahead of a small input that would leave it too little room, nor of a queue that is paused", () => {
    const loop = new Loop();
    const nodes = [
      aNode("s"),
      aNode("a", { inputs: ["s"], cpuMillicores: 1000 }),
      aNode("b", { inputs: ["s"], cpuMillicores: 100 }),
      aNode("c", { inputs: ["a", "b"], cpuMillicores: 1000 }),
    ];
    loop.turn(1, joins("w", { slots: 4, cpuMillicores: 4000 }), submits("r", nodes));
    expect(told(loop.turn(2, loop.finished("r", "s")), "TaskAssigned")).toHaveLength(2);
    const paused = new Loop();
    paused.turn(1, joins("w"), submits("r", LINE));
    const stopped = paused.turn(2, paused.finished("r", "n0"), {
      kind: "QueuePaused",
      zone: "here",
      executor: "",
    });
    expect(told(stopped, "TaskAssigned")).toEqual([]);
  });

  test("the loss of their worker sends all of them back, and blames one", () => {
    const loop = inLine();
    loop.turn(3, { kind: "WorkerLost", worker: 0, code: "lease" });
    expect([...(loop.run("r").data?.deaths ?? [])]).toEqual([[1, 1]]);
    expect(loop.status("r", "n1")).toBe("assigned");
    for (let at = 1; at < 20; at++) loop.turn(4, loop.finished("r", `n${at}`));
    expect(loop.run("r").outcome).toBe("completed");
    expectReplayed(loop);
  });
});

/** A random permutation by a seed, so that neither names nor the order of submission help. */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const all = [...items];
  let state = seed;
  for (let at = all.length - 1; at > 0; at--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const other = (state >>> 8) % (at + 1);
    [all[at], all[other]] = [all[other] as Item, all[at] as Item];
  }
  return all;
}

/** Two hundred producers, and consumers of pairs of them, under names and in an order that say nothing. */
function pairs(of: readonly (readonly [number, number])[], seed: number): NodeSpec[] {
  const names = shuffled([...new Array(200).keys()], seed).map((number) => `p${number}`);
  const producers = names.map((name) => aNode(name));
  const consumers = of.map(([one, other], at) =>
    aNode(`c${at}`, { inputs: [names[one] as string, names[other] as string] }),
  );
  return shuffled([...producers, ...consumers], seed + 1);
}

const HUNDRED = [...new Array(100).keys()];
const SHAPES = {
  disjoint: () => HUNDRED.map((at) => [2 * at, 2 * at + 1] as const),
  matching: (seed: number) => {
    const all = shuffled([...new Array(200).keys()], seed + 7);
    return HUNDRED.map((at) => [all[2 * at] as number, all[2 * at + 1] as number] as const);
  },
  "i with i + 100": () => HUNDRED.map((at) => [at, at + 100] as const),
  sliding: () => [...new Array(199).keys()].map((at) => [at, at + 1] as const),
};

describe("[D-05] nodes run where their data is, and what is used together is made together", () => {
  const cases = Object.keys(SHAPES).flatMap((shape) =>
    [1, 2, 3].flatMap((seed) =>
      [0, 32].map((queue) => ({ shape: shape as keyof typeof SHAPES, seed, queue })),
    ),
  );
  const name = "$shape pairs of 200 results of 1 MiB on two workers, queues of $queue, seed $seed";
  test.for(cases)(name, ({ shape, seed, queue }) => {
    const mixed = (node: number) => 10 + ((node * 7919 + seed) % 21);
    for (const tookMs of [() => 1, () => 20, mixed]) {
      const loop = new Loop({ fairShare: null, maxQueuePerWorker: queue });
      loop.turn(1, joins("w1"), joins("w2"));
      const play = new DataPlay(loop, { tookMs });
      play.submit(pairs(SHAPES[shape](seed), seed));
      play.finish();
      expect(loop.run("r").outcome).toBe("completed");
      const least = shape === "sliding" ? 1 : 0;
      // Behind a queue it is seen late who has less to do: then bringing a few is worth it.
      if (tookMs === mixed && queue > 0) expect(play.moved / MIB).toBeLessThanOrEqual(5 * least);
      else expect(play.moved / MIB).toBe(least);
      const [one = 0, other = 0] = [...play.ran.values()];
      expect(Math.abs(one - other) / (one + other)).toBeLessThanOrEqual(0.1);
      expect(play.most).toBeLessThanOrEqual(12 + 3 * queue);
    }
  });
});

test("[D-05] what is left of a worker's roots is not cut where that saves less than bringing results across costs", () => {
  const mostIn = (tookMs: readonly [number, number]) => {
    const loop = new Loop({ fairShare: null, maxQueuePerWorker: 32 });
    loop.turn(1, joins("w1"), joins("w2"));
    const play = new DataPlay(loop, { tookMs: (_, worker) => tookMs[worker] as number });
    play.submit(pairs(SHAPES.sliding(), 1));
    play.finish();
    return Math.max(...play.ran.values());
  };
  expect(mostIn([5, 4])).toBe(202);
  expect(mostIn([50, 40])).toBe(216);
});

test("[D-05] data is moved away from a worker that is busy for longer than that takes", () => {
  const loop = new Loop({ fairShare: null });
  const nodes = [
    aNode("a", { type: "make" }),
    aNode("long", { inputs: ["a"], type: "long" }),
    aNode("b", { inputs: ["a"], type: "short", needs: ["a", "gate"] }),
    aNode("gate", { inputs: [], type: "gate", capabilities: ["far"] }),
  ];
  loop.turn(1, joins("w1"), submits("r", nodes));
  loop.turn(2, held(loop, "a"));
  expect(loop.status("r", "long")).toBe("assigned");
  loop.turn(3, joins("w2", { capabilities: ["far"] }));
  const moved = loop.turn(60_000, loop.finished("r", "gate"));
  expect(told(moved, "TaskAssigned")).toEqual(["TaskAssigned b#1 w2"]);
  expect(moved.events.at(-1)).toMatchObject({ reason: { type: "DataAffinity", movedBytes: MIB } });
});

describe("roots that are left to others", () => {
  const producers = (count: number, options = {}) => [
    ...[...new Array(count).keys()].map((at) => aNode(`p${at}`, { inputs: [], ...options })),
    aNode("z", { inputs: [...new Array(count).keys()].map((at) => `p${at}`) }),
  ];

  test("are not waited for when that takes long", () => {
    const loop = new Loop({ fairShare: null });
    loop.turn(1, joins("w1"), joins("w2"));
    const play = new DataPlay(loop, { tookMs: (node) => (node === 0 ? 10_000 : 500) });
    play.submit(producers(40));
    play.finish();
    expect(loop.run("r").outcome).toBe("completed");
    // The other had nothing left of its own, and made more than half.
    const most = Math.max(...play.ran.values());
    expect(most).toBeGreaterThan(24);
  });

  test("are taken by whoever can, if those that they stand among belong to one that cannot", () => {
    const loop = new Loop({ fairShare: null });
    loop.turn(1, joins("w1", { capabilities: ["one"] }), joins("w2", { capabilities: ["other"] }));
    const nodes = [...new Array(40).keys()].map((at) =>
      aNode(`p${at}`, { inputs: [], capabilities: [at % 20 === 7 ? "other" : "one"] }),
    );
    const play = new DataPlay(loop);
    play.submit([...nodes, aNode("z", { inputs: nodes.map(({ id }) => id), capabilities: ["one"] })]);
    play.finish();
    expect(loop.run("r").outcome).toBe("completed");
  });
});

describe("any run with data, and workers that are lost", () => {
  const dag = fc.array(fc.tuple(fc.array(fc.nat(), { maxLength: 3 }), fc.boolean()), {
    minLength: 1,
    maxLength: 25,
  });
  const plays = fc.record({
    dag,
    slots: fc.constantFrom(1, 2),
    losses: fc.array(fc.tuple(fc.integer({ min: 1, max: 10 }), fc.nat({ max: 2 })), { maxLength: 4 }),
  });

  test("[D-01] [D-10] completes, recomputes no more than it must, and is decided again from its ledger", () => {
    fc.assert(
      fc.property(plays, ({ dag, slots, losses }) => {
        fc.pre(dag.some(([inputs], at) => at > 0 && inputs.length > 0));
        const nodes = dag.map(([inputs, keep], at) =>
          aNode(`n${at}`, { inputs: at === 0 ? [] : [...new Set(inputs.map((to) => `n${to % at}`))], keep }),
        );
        const loop = new Loop({ fairShare: null });
        for (const id of ["w1", "w2", "w3"]) loop.turn(1, joins(id, { slots }));
        const play = new DataPlay(loop, { tookMs: (node) => 1 + (node % 3) });
        play.submit(nodes);
        for (const [steps, worker] of losses) {
          for (let at = 0; at < steps; at++) play.step();
          expectMinimal(loop, play.lose(worker));
          play.follow(loop.turn(play.now, joins(`w${worker + 1}`, { slots })));
        }
        play.finish();
        const run = loop.run("r");
        // A node that died three times is the one way not to complete.
        const isPoisoned = [...(run.data?.deaths.values() ?? [])].some((deaths) => deaths >= 3);
        expect(run.outcome).toBe(isPoisoned ? "failed" : "completed");
        expectReplayed(loop);
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});

/** What is made again had completed, and is needed by something that is made again or was lost itself. */
function expectMinimal(loop: Loop, { events }: Told): void {
  const { graph, data, status } = loop.run("r");
  for (const event of events) {
    if (event.kind !== "NodesRecomputed") continue;
    const again = new Set(event.nodes);
    for (const node of again) {
      const { start, targets } = graph.dependents;
      const readers = [...targets.subarray(start[node], start[node + 1])].filter((reader) =>
        graph.inputsOf(reader).includes(node),
      );
      const isRead = readers.some(
        (reader) => again.has(reader) || (status[reader] as number) < Status.completed,
      );
      expect(isRead || data?.isNeeded(node)).toBe(true);
    }
  }
}
