import { expect, test } from "vitest";
import { aNode, joins, Loop, submits, type Told } from "../../tests/builders.ts";
import { expectReplayed } from "../../tests/replayed.ts";
import { whyNotYet } from "./index.ts";

const assigned = ({ texts }: Told) => texts.filter((text) => text.startsWith("TaskAssigned"));
const waits = (count: number, options = {}) =>
  [...new Array(count).keys()].map((at) => aNode(`io${at}`, { inputs: [], io: true, ...options }));

test("[D-06] nodes that mostly wait run beside the slots of a worker, as many as it says", () => {
  const loop = new Loop({ fairShare: null });
  const nodes = [...waits(5), aNode("a", { inputs: [] }), aNode("b", { inputs: [] })];
  const first = loop.turn(1, joins("w", { slots: 1, ioSlots: 3 }), submits("r", nodes));
  expect(assigned(first)).toHaveLength(4);
  expect(loop.status("r", "a")).toBe("assigned");
  expect(loop.status("r", "io2")).toBe("assigned");
  const waiting = whyNotYet(loop.state, loop.run("r"), loop.index("r", "io3"));
  expect(waiting[0]).toMatchObject({ code: "Capacity", rejected: { queue: 1 } });
  expect(assigned(loop.turn(2, loop.finished("r", "io1")))).toEqual(["TaskAssigned io3#1 w"]);
  expect(assigned(loop.turn(3, loop.finished("r", "a")))).toEqual(["TaskAssigned b#1 w"]);
  expect(loop.state.fleet.workers[0]).toMatchObject({ io: 3, inSlots: 1 });
  expectReplayed(loop);
});

test("[D-06] on a worker that says nothing of it they take slots", () => {
  const loop = new Loop({ fairShare: null });
  const first = loop.turn(1, joins("w", { slots: 2 }), submits("r", waits(5)));
  expect(assigned(first)).toHaveLength(2);
});

test("[D-06] all that ran beside the slots of a worker that was lost is under suspicion", () => {
  const loop = new Loop({ fairShare: null, maxQueuePerWorker: 2 });
  const nodes = [...waits(2), aNode("a", { inputs: [] }), aNode("b", { inputs: [] })];
  loop.turn(1, joins("w", { slots: 1, ioSlots: 2 }), submits("r", nodes));
  loop.turn(2, { kind: "WorkerLost", worker: 0, code: "lease" });
  const { data, graph } = loop.run("r");
  expect([...(data?.deaths.keys() ?? [])].map((node) => graph.idOf(node)).sort()).toEqual([
    "a",
    "io0",
    "io1",
  ]);
});

test("[D-06] a node that takes a slot is not given ahead into the place of one that takes none", () => {
  const followed = (io: boolean) => {
    const loop = new Loop({ fairShare: null });
    const line = [
      aNode("a", { inputs: [], type: "t", io: true }),
      aNode("b", { inputs: ["a"], type: "t", io: true }),
      aNode("c", { inputs: ["b"], type: "t", io }),
    ];
    loop.turn(1, joins("w", { slots: 1, ioSlots: 2 }), submits("r", line));
    return assigned(loop.turn(2, loop.finished("r", "a")));
  };
  expect(followed(true)).toEqual(["TaskAssigned b#1 w", "TaskAssigned c#1 w"]);
  expect(followed(false)).toEqual(["TaskAssigned b#1 w"]);
});
