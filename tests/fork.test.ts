import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Block, type Input, isDecision } from "../src/ledger/index.ts";
import {
  asEstimated,
  type Endings,
  eventsOf,
  type Happening,
  nextWakeAt,
  Play,
  type PlayedAttempt,
  replayBlock,
  State,
  stateHash,
  takeSnapshot,
} from "../src/scheduler/index.ts";
import { anyPlay, perform } from "./any-play.ts";
import { aNode, joins, Loop, submits } from "./builders.ts";
import { simulatedBlocks, stateAfter } from "./simulated.ts";

/** What happened from outside in blocks, at its times; blocks without any have their turns too. */
function happeningsOf(blocks: readonly Block[]): Happening[] {
  return blocks.map((block) => ({
    at: block.now,
    stimuli: eventsOf(block)
      .map(({ event }) => event)
      .filter((event): event is Input => !isDecision(event)),
  }));
}

/**
 * Stretches in which the server was there for every turn that was due. While it was down or waited for its store, things were
 * decided later than they could have been, and a play is never late.
 */
function* punctual(blocks: readonly Block[]): Generator<readonly [from: number, to: number]> {
  const state = new State();
  let from = 0;
  for (const [at, block] of blocks.entries()) {
    if (decidesBefore(state, block.now)) {
      yield [from, at];
      from = at + 1;
    }
    replayBlock(state, block);
  }
  yield [from, blocks.length];
}

function decidesBefore(state: State, now: number): boolean {
  if ((nextWakeAt(state) ?? now) >= now) return false;
  const options = { endings: undefined, until: now - 1, most: Number.POSITIVE_INFINITY };
  return new Play(takeSnapshot(state), state.now, options).state.seq > state.seq;
}

test("[P-15] a fork of a simulated ledger at any moment, to which the same happens, decides the same", {
  timeout: 240_000,
}, async () => {
  let turns = 0;
  for (const seed of [2, 5, 10]) {
    const blocks = await simulatedBlocks(seed);
    for (const [from, to] of punctual(blocks)) {
      const state = stateAfter(blocks.slice(0, from));
      const before = stateHash(state);
      const play = new Play(takeSnapshot(state), state.now, {
        happenings: happeningsOf(blocks.slice(from, to)),
        endings: undefined,
        until: blocks[to - 1]?.now ?? 0,
        most: Number.POSITIVE_INFINITY,
      });
      const after = stateHash(stateAfter(blocks.slice(0, to)));
      expect(stateHash(play.state), `seed ${seed}, blocks ${from} to ${to}`).toBe(after);
      expect(stateHash(state)).toBe(before);
      turns += to - from;
    }
  }
  expect(turns).toBeGreaterThan(800);
});

/** As long as the numbers of the task say, some fail, one in many does not end. */
const anyhow: Endings = (beginning) => {
  const { tasks, node, attempt } = beginning;
  const mixed = (tasks.number * 31 + node * 17 + attempt * 7) % 23;
  if (mixed === 0) return undefined;
  const { tookMs, report } = asEstimated(beginning);
  const { run } = report;
  const failed = {
    kind: "AttemptFailed",
    run,
    node,
    attempt,
    startedAt: -1,
    code: "exit",
    message: "",
  } as const;
  return { tookMs: tookMs + mixed, report: mixed === 1 ? failed : report };
};

/** As long as they took in a play. */
function asPlayed(attempts: readonly PlayedAttempt[]): Endings {
  const ended = new Map(attempts.map((one) => [`${one.key} ${one.attempt}`, one]));
  return (beginning) => {
    const { tasks, node, attempt } = beginning;
    const key = tasks.number === -1 ? -2 - node : tasks.number * 2 ** 21 + node;
    const { startedAt, endedAt } = ended.get(`${key} ${attempt}`) ?? {};
    if (startedAt === undefined || endedAt === undefined) return undefined;
    return {
      tookMs: endedAt - startedAt,
      report: anyhow(beginning)?.report ?? asEstimated(beginning).report,
    };
  };
}

test("[P-15] a fork of a play, with the durations that it had, goes on as it did", () => {
  fc.assert(
    fc.property(anyPlay, fc.nat(40), (story, turns) => {
      const loop = new Loop({ ...story.config, maxQueuePerWorker: 0 });
      perform(loop, { ...story, config: {} });
      const snapshot = takeSnapshot(loop.state);
      const all = { endings: anyhow, most: 2_000 };
      const whole = new Play(snapshot, loop.state.now, all);
      const begun = new Play(snapshot, loop.state.now, { ...all, isEnough: (play) => play.turns >= turns });
      const endings = asPlayed(whole.attempts);
      const rest = new Play(takeSnapshot(begun.state), begun.now, { endings, most: 2_000 });
      expect(laterThan(rest, begun.now)).toEqual(laterThan(whole, begun.now));
      expect(new Play(snapshot, loop.state.now, all).attempts).toEqual(whole.attempts);
    }),
    { numRuns: 60 },
  );
});

function laterThan({ attempts }: Play, now: number): PlayedAttempt[] {
  return attempts.filter(({ assignedAt }) => assignedAt > now);
}

describe("workers in a play", () => {
  const play = (loop: Loop, happenings: Happening[] = []) =>
    new Play(takeSnapshot(loop.state), loop.state.now, { happenings, endings: asEstimated, most: 1_000 });
  const times = ({ attempts, state }: Play) =>
    attempts.map(({ worker, assignedAt, startedAt, endedAt }) => {
      return [state.worker(worker).id, assignedAt, startedAt, endedAt];
    });

  test("run as many at once as they have slots, in the order in which they were given them", () => {
    const loop = new Loop({ maxQueuePerWorker: 2 });
    const nodes = [1_000, 3_000, 500, 300].map((estimateMs, at) =>
      aNode(`n${at}`, { estimateMs, priority: 2 }),
    );
    loop.turn(1, joins("w", { slots: 2 }), submits("r", nodes));
    loop.turn(101);
    expect(times(play(loop)).toSorted((a, b) => Number(a[3]) - Number(b[3]))).toEqual([
      ["w", 1, 1, 1_001],
      ["w", 1, 1_001, 1_501],
      ["w", 1, 1_501, 1_801],
      ["w", 1, 1, 3_001],
    ]);
  });

  test("have run for a while what they have, and end what takes longer than was estimated at once", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", [aNode("a"), aNode("b", { needs: ["a"] })]));
    loop.turn(5_000);
    const late = new Play(takeSnapshot(loop.state), 5_000, { endings: asEstimated, most: 1_000 });
    expect(times(late)).toEqual([
      ["w", 1, 1, 5_001],
      ["w", 5_001, 5_001, 6_001],
    ]);
    expect(late.isOver).toBe(true);
  });

  test("stop what is cancelled, and give the rest to whoever comes", () => {
    const loop = new Loop();
    const nodes = [aNode("a", { estimateMs: 9_000 }), aNode("b", { estimateMs: 10 }), aNode("c")];
    loop.turn(1, joins("w"), submits("r", nodes));
    const played = play(loop, [
      { at: 11, stimuli: [{ kind: "CancelRequested", run: 0, node: 0 }] },
      { at: 12, stimuli: [joins("v")] },
    ]);
    expect(times(played)).toEqual([
      ["w", 1, 1, 11],
      ["w", 11, 11, 1_011],
      ["v", 12, 12, 22],
    ]);
  });

  test("are lost with what they run, which begins anew elsewhere", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", [aNode("a", { maxAttempts: 2 })]));
    const lost = { kind: "WorkerLost", worker: 0, code: "lease" } as const;
    expect(times(play(loop, [{ at: 500, stimuli: [lost, joins("v")] }]))).toEqual([
      ["w", 1, 1, 500],
      ["v", 500, 500, 1_500],
    ]);
  });

  test("do not end what waits to be recharged before it is", () => {
    const loop = new Loop();
    loop.turn(1, joins("w"), submits("r", [aNode("a", { budget: [1, 1, 1, 1, 1, 1] })]));
    loop.turn(2, { kind: "TaskBudgetExhausted", run: 0, node: 0, attempt: 1, part: "ops", recharges: 0 });
    expect(times(play(loop))).toEqual([["w", 1, 1, undefined]]);
    const amounts = [9, 0, 0, 0, 0];
    const recharged = { kind: "TaskRecharged", run: 0, node: 0, attempt: 1, amounts } as const;
    expect(times(play(loop, [{ at: 500, stimuli: [recharged] }]))).toEqual([["w", 1, 1, 1_001]]);
    expect(times(play(loop, [{ at: 5_000, stimuli: [recharged] }]))).toEqual([["w", 1, 1, 5_001]]);
  });
});

test("a play takes no more turns and attempts than it may, and says whether that was all", () => {
  const loop = new Loop();
  loop.turn(
    1,
    joins("w"),
    submits(
      "r",
      Array.from({ length: 50 }, (_, at) => aNode(`n${at}`)),
    ),
  );
  const short = new Play(takeSnapshot(loop.state), 1, { endings: asEstimated, most: 20 });
  expect(short.work).toBeLessThanOrEqual(22);
  expect(short.isOver).toBe(false);
  const whole = new Play(takeSnapshot(loop.state), 1, { endings: asEstimated, most: 1_000 });
  expect([whole.isOver, whole.now]).toEqual([true, 50_001]);
});
