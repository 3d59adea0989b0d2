import fc from "fast-check";
import { expect, test } from "vitest";
import { aWorker, Loop, submitsTask } from "../../tests/builders.ts";
import { restore } from "./restore.ts";
import { stateHash, takeSnapshot } from "./snapshot.ts";
import { Status } from "./status.ts";

const HOUR_MS = 3_600_000;

test("[S-26.clock] a deadline is met by the time of day, wherever the ledger's time is", () => {
  const loop = new Loop();
  loop.turn(10 * HOUR_MS, { kind: "ClockCorrected", offsetMs: -2 * HOUR_MS });
  loop.turn(10 * HOUR_MS, submitsTask("t", {}, { deadline: 8 * HOUR_MS + 5_000 }));
  expect(loop.turn(10 * HOUR_MS + 4_999).texts).toEqual([]);
  expect(loop.turn(10 * HOUR_MS + 5_000).texts).toEqual(["TaskFailed -1/0"]);
});

test("[S-26.clock] a clock that is set forward brings deadlines and starts nearer, one that is set back puts them off", () => {
  const loop = new Loop();
  loop.turn(0, { kind: "WorkerRegistered", worker: aWorker("w", { slots: 4 }) });
  loop.turn(0, submitsTask("later", {}, { runAt: HOUR_MS }));
  loop.turn(0, submitsTask("soon", { executor: "nobody" }, { deadline: 2 * HOUR_MS }));
  expect(loop.turn(1, { kind: "ClockCorrected", offsetMs: HOUR_MS - 10 }).texts).toEqual(["ClockCorrected"]);
  expect(loop.turn(2, { kind: "ClockCorrected", offsetMs: 0 }).texts).toEqual(["ClockCorrected"]);
  expect(loop.turn(HOUR_MS - 1).texts).toEqual([]);
  expect(loop.turn(HOUR_MS).texts).toEqual(["TaskAssigned -1/0#1 w"]);
  const { texts } = loop.turn(HOUR_MS + 1, { kind: "ClockCorrected", offsetMs: HOUR_MS });
  expect(texts).toEqual(["ClockCorrected", "TaskFailed -1/1"]);
});

test("[S-26.clock] a correction does not change how long a retry backs off", () => {
  const loop = new Loop();
  loop.turn(0, { kind: "WorkerRegistered", worker: aWorker("w") });
  const spec = { maxAttempts: 2, backoffMs: 1_000 };
  loop.turn(0, submitsTask("t", spec, { deadline: 10 * HOUR_MS }));
  const failed = { kind: "AttemptFailed", run: -1, node: 0, attempt: 1, startedAt: 0, code: "exit" } as const;
  loop.turn(100, { ...failed, message: "exit code 1" });
  loop.turn(200, { kind: "ClockCorrected", offsetMs: HOUR_MS });
  const { since, status } = loop.state.singles.get(0);
  expect([status, since]).toEqual([Status.delayed, 1_100]);
});

const anyStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("wait"), ms: fc.integer({ min: 1, max: 500 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("set"), ms: fc.integer({ min: -2_000, max: 2_000 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("submit"),
      deadline: fc.option(fc.integer({ min: 0, max: 4_000 })),
      // A start time that has passed at the submission does not count: such a task stays due.
      runAt: fc.option(fc.integer({ min: 1, max: 4_000 })),
    }),
  },
);

test("[S-26.clock] whatever the clock does, no task expires or becomes due by another time of day than its own", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
      const loop = new Loop();
      // Nobody serves the tasks, so they wait for ever: only their times decide what becomes of them.
      const waiting = new Map<number, { deadline: number; runAt: number }>();
      let now = 10_000;
      let offsetMs = 0;
      let submitted = 0;
      for (const one of steps) {
        if (one.kind === "wait") now += one.ms;
        if (one.kind === "set") offsetMs += one.ms;
        const timeOfDay = now + offsetMs;
        const stimuli = [];
        if (one.kind === "set") stimuli.push({ kind: "ClockCorrected", offsetMs } as const);
        if ("deadline" in one) {
          const times = {
            deadline: one.deadline === null ? -1 : Math.max(0, timeOfDay + one.deadline),
            runAt: one.runAt === null ? -1 : Math.max(0, timeOfDay + one.runAt),
          };
          stimuli.push(submitsTask(`t${submitted}`, {}, times));
          waiting.set(submitted++, times);
        }
        const { events } = loop.turn(now, ...stimuli);
        const expired = events.flatMap((event) => (event.kind === "TaskFailed" ? [event.node] : []));
        const due = [...waiting].filter(([, { deadline }]) => deadline >= 0 && deadline <= timeOfDay);
        expect(expired.sort((a, b) => a - b)).toEqual(due.map(([node]) => node));
        for (const node of expired) waiting.delete(node);
        for (const [node, { runAt }] of waiting) {
          const isDue = runAt <= timeOfDay;
          expect([node, loop.state.singles.isOffered(node)]).toEqual([node, isDue]);
        }
        const restored = restore(takeSnapshot(loop.state));
        expect(stateHash(restored)).toBe(stateHash(loop.state));
        expect(restored.nextDeadline()).toBe(loop.state.nextDeadline());
      }
    }),
    { numRuns: 100 },
  );
});
