import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { MIB } from "../../tests/data-play.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import { isHolding, step } from "../scheduler/index.ts";
import { aboutOf } from "./about.ts";

test("[D-03] a worker is told to free a result only when neither a run nor the cache has it any more", () => {
  const graph = (id: string) => [aNode(id, { requestHash: id, cache: "1" }), aNode("z", { inputs: [id] })];
  const loop = new Loop({ cacheBytes: MIB });
  const held = (run: string, node: string) =>
    ({ ...loop.finished(run, node, MIB, `hash of ${node}`), costMicros: 0, held: true }) as const;
  loop.turn(1, joins("w", { slots: 4 }), submits("r", graph("a")));
  loop.turn(2, held("r", "a"));
  const chunk = loop.run("r").chunkIdOf(0);
  loop.turn(3, submits("s", graph("a")), submits("t", graph("x")));
  const freed: unknown[] = [];
  const note = (event: LedgerEvent) => {
    const about = aboutOf(loop.state, event);
    if (about?.freed) freed.push([event.kind, about.zone, about.runId, about.freed]);
  };
  step(loop.state, 4, [loop.finished("r", "z", 1)], note);
  expect(freed.splice(0)).toEqual([["ChunksFreed", "here", "r", [{ id: chunk, workers: [] }]]]);
  step(loop.state, 5, [held("t", "x")], note);
  expect(freed.splice(0)).toEqual([["CacheEvicted", "here", undefined, [{ id: chunk, workers: [] }]]]);
  expect(isHolding(loop.state, 0, chunk)).toBe(true);
  step(loop.state, 6, [loop.finished("s", "z", 1)], note);
  expect(freed).toEqual([["ChunksFreed", "here", "s", [{ id: chunk, workers: [0] }]]]);
  expect(isHolding(loop.state, 0, chunk)).toBe(false);
});
