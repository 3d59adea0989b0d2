import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { MIB } from "../../tests/data-play.ts";
import type { Report } from "../protocol/index.ts";
import { lossesOf, transfersOf } from "./data-terms.ts";
import { type PlacedTask, PlacedTasks } from "./placed-tasks.ts";

test("[D-05] of the transfers that a worker tells of, those count that are of its task's inputs, from workers that are known", () => {
  const loop = new Loop();
  const nodes = [
    aNode("a"),
    aNode("b"),
    aNode("sum", { inputs: ["b", "a"], capabilities: ["far"], keep: true }),
  ];
  loop.turn(1, joins("w1", { slots: 2 }), joins("w2", { capabilities: ["far"] }), submits("r", nodes));
  for (const id of ["a", "b"])
    loop.turn(2, { ...loop.finished("r", id, MIB, id), costMicros: 0, held: true });
  const run = loop.run("r");
  const task = new PlacedTasks(loop.state).live(run.taskIdOf(2)) as PlacedTask;
  const transfer = { chunk: run.chunkIdOf(0), from: "w1", began_at: 90, took_us: 1_500 };
  const report = (transfers: (typeof transfer)[]): Extract<Report, { type: "finished" }> => {
    return { type: "finished", task: task.id, attempt: 1, started_at: 100, transfers };
  };
  const nonsense = [
    { ...transfer, chunk: run.chunkIdOf(2) },
    { ...transfer, from: "nobody" },
  ];
  expect(transfersOf(loop.state, task, report([...nonsense, transfer]))).toEqual([[0, 0, -10, 1_500]]);
  const { transfers: _, ...silent } = report([]);
  expect(transfersOf(loop.state, task, silent)).toEqual([]);
});

test("[D-03] [D-10] a result that is not where several nodes should have it is lost to all of them", () => {
  const loop = new Loop({ cacheBytes: 10 * MIB });
  const cached = (id: string) => aNode(id, { cache: "1", requestHash: "x" });
  loop.turn(1, joins("w1", { slots: 2 }), submits("before", [cached("a")]));
  loop.turn(2, { ...loop.finished("before", "a", MIB, "a"), costMicros: 0, held: true });
  loop.turn(3, submits("r", [cached("a"), cached("b"), aNode("c", { inputs: ["a", "b"], keep: true })]));
  const run = loop.run("r");
  const task = new PlacedTasks(loop.state).live(run.taskIdOf(2)) as PlacedTask;
  const chunk = loop.run("before").chunkIdOf(0);
  const of = {
    type: "failed",
    task: task.id,
    attempt: 1,
    started_at: -1,
    code: "input-missing",
    message: "",
  } as const;
  expect(lossesOf(loop.state, task, { ...of, missing: [{ chunk, worker: "w1" }] }, () => false)).toEqual(
    [0, 1].map((node) => expect.objectContaining({ kind: "ChunkLost", run: run.number, node, worker: 0 })),
  );
});
