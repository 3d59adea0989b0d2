import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";

const refused = (code: string) => ({ accepted: false, code });
const full = (held: number, asked: number, most: number) => ({
  accepted: false,
  code: "backlog",
  excess: { whose: "server", unit: "tasks", held, asked, most },
});
const accepted = (throttle = false) => ({ accepted: true, throttle });
const three = [aNode("a"), aNode("b"), aNode("c")];

test("[P-05] above the backlog limit a submission is refused as a whole, at it it is not", () => {
  const loop = new Loop({ backlogLimit: 5 });
  expect(loop.turn(1, submits("r1", three)).replies).toEqual([accepted()]);
  expect(loop.turn(2, submits("r2", three)).replies).toEqual([full(3, 3, 5)]);
  expect(loop.turn(3, submits("r3", three.slice(1))).replies).toEqual([accepted()]);
  expect(loop.turn(4, submits("r4", three.slice(2))).replies).toEqual([full(5, 1, 5)]);
  expect(loop.state.backlog).toBe(5);
});

test("[P-05] what was given to a worker no longer counts towards the backlog", () => {
  const loop = new Loop({ backlogLimit: 3 });
  loop.turn(1, joins("w", { slots: 2 }), submits("r1", three));
  expect(loop.turn(2, submits("r2", three)).replies).toEqual([full(1, 3, 3)]);
  expect(loop.turn(3, submits("r3", three.slice(1))).replies).toMatchObject([{ accepted: true }]);
});

test("[P-05] refusals are recorded in sum: one event per turn, agent and code", () => {
  const loop = new Loop({ backlogLimit: 3 });
  const told = loop.turn(
    1,
    submits("r1", three, { agent: "bob" }),
    submits("r2", three, { agent: "ann" }),
    submits("r3", three, { agent: "bob" }),
    submits("r4", three, { agent: "ann" }),
    submits("r5", three, { agent: "ann" }),
  );
  expect(told.events.slice(1)).toEqual([
    { kind: "SubmissionsRefused", agent: "ann", code: "backlog", count: 3 },
    { kind: "SubmissionsRefused", agent: "bob", code: "backlog", count: 1 },
  ]);
  expect(told.replies.map((reply) => reply.accepted)).toEqual([true, false, false, false, false]);
  expect(loop.state.refused).toBe(4);
  expect(loop.turn(2, submits("r6", three, { agent: "bob" })).events).toEqual([
    { kind: "SubmissionsRefused", agent: "bob", code: "backlog", count: 1 },
  ]);
});

test("[P-05] two codes of one agent in one turn are two events", () => {
  const loop = new Loop({ backlogLimit: 3, maxQueuePerWorker: 1, rejectThreshold: 0.5 });
  loop.turn(1, joins("w"), submits("r1", [aNode("a")]));
  const told = loop.turn(2, submits("r2", three), submits("r3", [...three, aNode("d")]));
  expect(told.events).toEqual([
    { kind: "SubmissionsRefused", agent: "ann", code: "backpressure", count: 1 },
    { kind: "SubmissionsRefused", agent: "ann", code: "backlog", count: 1 },
  ]);
});

test("[P-05] with a threshold, full queues refuse; without one they only ask to slow down", () => {
  const repliesWith = (rejectThreshold: number | null) => {
    const loop = new Loop({ maxQueuePerWorker: 4, rejectThreshold });
    loop.turn(1, joins("w", { slots: 4 }));
    return ["r1", "r2", "r3", "r4"].flatMap((id, at) => loop.turn(2 + at, submits(id, [aNode("a")])).replies);
  };
  const below = [accepted(), accepted(), accepted()];
  expect(repliesWith(null)).toEqual([...below, accepted(true)]);
  expect(repliesWith(0.75)).toEqual([...below, refused("backpressure")]);
});

test("[P-19] more nodes than the configuration allows are refused", () => {
  const loop = new Loop({ maxNodes: 2 });
  const told = loop.turn(1, submits("r1", three), submits("r2", three.slice(1)));
  expect(told.replies).toEqual([refused("too-many-nodes"), accepted()]);
});

test("a run id that is in use is refused, also within a turn", () => {
  const loop = new Loop();
  const told = loop.turn(1, submits("r", three), submits("r", three));
  expect(told.replies).toEqual([accepted(), refused("duplicate-run")]);
  expect(told.texts).toEqual(["RunSubmitted"]);
});

test("a configuration takes effect in the turn that brings it", () => {
  const loop = new Loop({ maxQueuePerWorker: 0 });
  loop.turn(1, joins("w"), submits("r", three));
  const config = { ...loop.state.config, maxQueuePerWorker: 1 };
  expect(loop.turn(2, { kind: "SchedulerConfigured", config }).texts).toEqual([
    "SchedulerConfigured",
    "TaskAssigned b#1 w",
  ]);
});

test("[Q-08] another window of costs counts for agents that had costs before", () => {
  const loop = new Loop({ order: "hrrn", costThresholdMicros: 5, costWindowMs: 60_000 });
  loop.turn(1, joins("w"), submits("r1", [aNode("a")]));
  loop.turn(2, { ...loop.finished("r1", "a"), costMicros: 9 });
  loop.turn(3, { kind: "SchedulerConfigured", config: { ...loop.state.config, costWindowMs: 600 } });
  expect(loop.state.costs.get(JSON.stringify(["here", "ann"]))?.sum(3)).toBe(9);
  expect(loop.state.costs.get(JSON.stringify(["here", "ann"]))?.sum(5_000)).toBe(0);
});
