import { describe, expect, test } from "vitest";
import { aNode, HOUR_MS, joins, Loop, submits, type Told } from "../../tests/builders.ts";
import { MIB } from "../../tests/data-play.ts";
import { expectReplayed } from "../../tests/replayed.ts";
import type { NodeSpec } from "../graph/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import { isHolding, restore, stateHash, step, takeSnapshot } from "./index.ts";

const cached = (id: string, inputs: string[], requestHash: string, cache = "1") =>
  aNode(id, { inputs, requestHash, cache });

function told({ texts }: Told, ...kinds: string[]): string[] {
  return texts.filter((text) => kinds.some((kind) => text.startsWith(kind)));
}

describe("[D-03] what was made from the same is not made again", () => {
  const GRAPH = [
    cached("a", [], "args of a"),
    cached("b", ["a"], "args of b"),
    aNode("c", { inputs: ["b"] }),
  ];

  function completed(): Loop {
    const loop = new Loop();
    loop.turn(1, joins("w", { slots: 4 }), submits("r", GRAPH));
    loop.turn(2, loop.finished("r", "a", 10, "hash of a"));
    loop.turn(3, loop.finished("r", "b", 20, "hash of b"));
    loop.turn(4, loop.finished("r", "c", 5, "hash of c"));
    expect(loop.run("r").outcome).toBe("completed");
    return loop;
  }

  test("a later run takes it in the turn in which it comes, node by node", () => {
    const loop = completed();
    const again = loop.turn(5, submits("s", GRAPH));
    expect(again.texts).toEqual(["RunSubmitted", "TaskReused a", "TaskReused b", "TaskAssigned c#1 w"]);
    const [, reused] = again.events;
    expect(reused).toMatchObject({
      taskId: loop.run("r").taskIdOf(0),
      resultHash: "hash of a",
      resultBytes: 10,
    });
    loop.turn(6, loop.finished("s", "c"));
    expect(loop.run("s").outcome).toBe("completed");
    expectReplayed(loop);
  });

  test("a run of which all is known ends at once", () => {
    const loop = completed();
    const { texts } = loop.turn(5, submits("s", GRAPH.slice(0, 2)));
    expect(texts.at(-1)).toBe("RunEnded completed");
  });

  test.for([false, true])(
    "a node that waits for a worker takes it when another has made it, restored: %s",
    (restored) => {
      const loop = new Loop();
      loop.turn(1, joins("w"), submits("r", [GRAPH[0], aNode("z", { inputs: ["a"] })] as NodeSpec[]));
      loop.turn(2, submits("s", GRAPH));
      const state = restored ? restore(takeSnapshot(loop.state)) : loop.state;
      const events: LedgerEvent[] = [];
      step(state, 3, [loop.finished("r", "a", 10, "hash of a")], (event) => events.push(event));
      expect(events.map(({ kind }) => kind)).toEqual(["AttemptFinished", "TaskReused", "TaskAssigned"]);
    },
  );

  test.for([
    ["another version", [cached("a", [], "args of a", "2")]],
    ["other arguments", [cached("a", [], "other args")]],
    [
      "another function",
      [{ ...cached("a", [], "args of a"), task: { ...aNode("a").task, type: "t", cache: "1" } }],
    ],
    ["without being asked to", [aNode("a", { requestHash: "args of a" }), cached("x", [], "x")]],
  ] as const)("not for %s", ([, nodes]) => {
    const loop = completed();
    expect(told(loop.turn(5, submits("s", nodes)), "TaskReused")).toEqual([]);
  });

  test("not for another zone, nor after other inputs, nor of a result that workers do not keep for it", () => {
    const loop = completed();
    expect(told(loop.turn(5, submits("z", GRAPH, { zone: "there" })), "TaskReused")).toEqual([]);
    const changed = [cached("a", [], "new args"), cached("b", ["a"], "args of b")];
    loop.turn(6, submits("s", changed));
    loop.turn(7, { ...loop.finished("s", "a", MIB, "another hash"), costMicros: 0, held: true });
    expect(loop.status("s", "b")).toBe("assigned");
    expect(told(loop.turn(8, submits("t", [cached("a", [], "new args")])), "TaskReused")).toEqual([]);
  });

  test("not after a day without use", () => {
    const loop = completed();
    expect(told(loop.turn(24 * HOUR_MS, submits("s", GRAPH)), "TaskReused")).toEqual([]);
  });
});

describe("[D-03] a large result that may be used again is kept by its worker", () => {
  const GRAPH = [cached("a", [], "args of a"), aNode("b", { inputs: ["a"] })];
  const held = (loop: Loop, run: string, node: string, bytes = MIB) =>
    ({ ...loop.finished(run, node, bytes, `hash of ${node}`), costMicros: 0, held: true }) as const;
  const chunkOf = (loop: Loop, run: string) => loop.run(run).chunkIdOf(0);

  /** The first run made `a` on w1 and has ended. */
  function completed(cacheBytes = 10 * MIB): Loop {
    const loop = new Loop({ cacheBytes });
    loop.turn(1, joins("w1", { slots: 2 }), submits("r", GRAPH));
    loop.turn(2, held(loop, "r", "a"));
    const { texts } = loop.turn(3, loop.finished("r", "b", 1));
    expect(texts).toEqual(["AttemptFinished b#1", "RunEnded completed", "ChunksFreed"]);
    return loop;
  }

  test("after its run, for others of the zone, which then own it as well", () => {
    const loop = completed();
    const chunk = chunkOf(loop, "r");
    expect(isHolding(loop.state, 0, chunk)).toBe(true);
    const again = loop.turn(4, submits("s", GRAPH));
    expect(again.texts).toEqual(["RunSubmitted", "TaskReused a", "TaskAssigned b#1 w1"]);
    expect(chunkOf(loop, "s")).toBe(chunk);
    expect(loop.run("s").data?.holders.get(0)).toEqual([0]);
    // Its run's token gives it out, wherever it is brought.
    expect(loop.run("s").data?.roots.get(0)).toBe(loop.run("r").rootId);
    expect(told(loop.turn(5, loop.finished("s", "b", 1)), "ChunksFreed")).toEqual(["ChunksFreed"]);
    expect(isHolding(loop.state, 0, chunk)).toBe(true);
    expectReplayed(loop);
  });

  test("no more than so many bytes, of which those go first that were used longest ago", () => {
    const loop = new Loop({ cacheBytes: 3 * MIB });
    const names = ["a", "b", "c"];
    loop.turn(
      1,
      joins("w1", { slots: 9 }),
      submits(
        "r",
        [...names, "d"].map((id) => cached(id, [], id)),
      ),
    );
    for (const [at, id] of names.entries()) loop.turn(2 + at, held(loop, "r", id));
    loop.turn(5, submits("s", [cached("a", [], "a")]));
    expect(told(loop.turn(6, held(loop, "r", "d", 2 * MIB)), "CacheEvicted")).toHaveLength(2);
    const found = loop.turn(
      7,
      submits(
        "t",
        [...names, "d"].map((id) => cached(id, [], id)),
      ),
    );
    expect(told(found, "TaskReused")).toEqual(["TaskReused a", "TaskReused d"]);
    expectReplayed(loop);
  });

  test("nothing larger than all of that, and nothing where it is not asked for", () => {
    for (const cacheBytes of [MIB - 1, undefined]) {
      const loop = new Loop(cacheBytes === undefined ? {} : { cacheBytes });
      loop.turn(1, joins("w1", { slots: 2 }), submits("r", GRAPH));
      loop.turn(2, held(loop, "r", "a"));
      expect(told(loop.turn(3, submits("s", GRAPH)), "TaskReused", "CacheEvicted")).toEqual([]);
    }
  });

  test("gone with its worker it is made again by whoever needs it, and that is no attempt too many", () => {
    const loop = completed();
    loop.turn(4, submits("s", GRAPH), joins("w2", { slots: 2 }));
    const lost = loop.turn(5, { kind: "WorkerLost", worker: 0, code: "lease" });
    expect(told(lost, "NodesRecomputed", "TaskAssigned")).toEqual(["NodesRecomputed", "TaskAssigned a#1 w2"]);
    expect(loop.run("s").uncountedOf(0)).toBe(0);
    loop.turn(6, held(loop, "s", "a"));
    expect(chunkOf(loop, "s")).not.toBe(chunkOf(loop, "r"));
    expect(told(loop.turn(7, submits("t", GRAPH)), "TaskReused")).toEqual(["TaskReused a"]);
    expectReplayed(loop);
  });

  test("a copy that is not where it should be is not found again", () => {
    const loop = completed();
    loop.turn(4, submits("s", GRAPH));
    const { number } = loop.run("s");
    loop.turn(5, { kind: "ChunkLost", run: number, node: 0, worker: 0 });
    expect(told(loop.turn(6, submits("t", GRAPH)), "TaskReused")).toEqual([]);
  });

  test("and a state that is restored knows all of that", () => {
    const loop = completed();
    loop.turn(4, submits("s", GRAPH));
    const restored = restore(takeSnapshot(loop.state));
    expect(stateHash(restored)).toBe(stateHash(loop.state));
    expect(isHolding(restored, 0, chunkOf(loop, "r"))).toBe(true);
    expect(restored.runById("s")?.data?.roots.get(0)).toBe(loop.run("r").rootId);
  });
});
