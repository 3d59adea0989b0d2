import { expect, test } from "vitest";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { tellStory } from "../../tests/story-ledger.ts";
import { taskKey } from "../placement/index.ts";
import { eventsOf, replayBlock, State } from "../scheduler/index.ts";
import { type Attempt, History } from "./history.ts";

function historyOf(loop: Loop): History {
  const history = new History();
  for (const recorded of loop.blocks.flatMap(eventsOf)) history.take(recorded);
  history.close();
  return history;
}

function attemptsOf(loop: Loop): Attempt[] {
  return historyOf(loop).attempts;
}

test("what is open in the history is what workers hold in the state, after every block", () => {
  const history = new History();
  const state = new State();
  for (const block of tellStory().blocks) {
    for (const recorded of eventsOf(block)) history.take(recorded);
    replayBlock(state, block);
    const open = history.attempts
      .filter(({ outcome }) => outcome === "open")
      .map(({ run, node, worker }) => `${history.workers[worker]} ${taskKey(run, node)}`);
    const held = state.fleet.workers.flatMap(({ id, held: tasks }) =>
      [...tasks.keys()].map((key) => `${id} ${key}`),
    );
    expect(open.sort()).toEqual(held.sort());
  }
});

test("a worker's clock cannot move an attempt out of its bounds", () => {
  const loop = new Loop();
  const roomy = { slots: 3 };
  loop.turn(100, joins("w", roomy), submits("r", [aNode("early"), aNode("late"), aNode("unknown")]));
  loop.turn(
    200,
    { ...loop.finished("r", "early"), startedAt: 50 },
    { ...loop.finished("r", "late"), startedAt: 900 },
    { ...loop.finished("r", "unknown"), startedAt: -1 },
  );
  expect(attemptsOf(loop).map(({ startedAt, endedAt }) => [startedAt, endedAt])).toEqual([
    [100, 200],
    [200, 200],
    [100, 200],
  ]);
});

test("a worker that registers again has lost what it held", () => {
  const loop = new Loop();
  loop.turn(100, joins("w"), submits("r", [aNode("a", { maxAttempts: 2 })]));
  loop.turn(300, joins("w"));
  loop.turn(400);
  expect(attemptsOf(loop)).toMatchObject([
    { attempt: 1, outcome: "lost", endedAt: 300 },
    { attempt: 2, outcome: "open", assignedAt: 300, endedAt: 300 },
  ]);
});

test("a start that was reported holds although the end never comes", () => {
  const loop = new Loop();
  loop.turn(100, joins("w", { slots: 2 }), submits("r", [aNode("a"), aNode("b")]));
  loop.turn(250, { ...loop.started("r", "a"), startedAt: 180 });
  loop.turn(300, loop.failed("r", "b"));
  expect(attemptsOf(loop)[0]).toMatchObject({ startedAt: 180, endedAt: 300, outcome: "open" });
});
