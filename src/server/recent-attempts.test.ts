import fc from "fast-check";
import { expect, test } from "vitest";
import { anyPlay, perform } from "../../tests/any-play.ts";
import { aNode, joins, Loop, submits } from "../../tests/builders.ts";
import { Projection } from "../driver/index.ts";
import { nodeOfKey, runOfKey } from "../placement/index.ts";
import { apply, eventsOf, State } from "../scheduler/index.ts";
import { attemptsOf } from "./attempt-views.ts";
import { RecentAttempts } from "./recent-attempts.ts";

const KEPT = 1_000;
const store = { keyed: async () => [], task: async () => undefined };
const admin = { keyId: "k", zone: "here", agent: "", scopes: new Set(["admin" as const]), isZoneAdmin: true };

/** The blocks of a story, told one after the other to who follows facts. */
function told(loop: Loop, after: (state: State, recent: RecentAttempts) => void = () => {}) {
  const state = new State();
  const projection = new Projection(store);
  const recent = new RecentAttempts({ state }, KEPT);
  for (const block of loop.blocks) {
    for (const { event, now } of eventsOf(block)) {
      projection.note(state, event, now, undefined);
      apply(state, event, now);
    }
    projection.take();
    recent.follow(projection.takeFacts());
    after(state, recent);
  }
  return { state, recent };
}

function openOf(recent: RecentAttempts) {
  return [...recent.latest()].filter(({ outcome }) => outcome === undefined);
}

test("whatever happens, it knows what each worker has, and each that runs has a slot of its own", () => {
  fc.assert(
    fc.property(anyPlay, (play) => {
      const loop = new Loop(play.config);
      perform(loop, play);
      told(loop, (state, recent) => {
        const open = openOf(recent);
        const known = open.map(({ worker, taskId, attempt }) => `${worker} ${taskId} ${attempt}`).sort();
        expect(known).toEqual(heldIn(state));
        for (const { number, spec } of state.fleet.workers) {
          const lanes = open
            .filter(({ worker, lane }) => worker === number && lane >= 0)
            .map(({ lane }) => lane);
          expect(new Set(lanes).size).toBe(lanes.length);
          expect(lanes.every((lane) => lane < spec.slots)).toBe(true);
          const all = open.filter(({ worker }) => worker === number).length;
          expect(lanes.length).toBe(Math.min(all, spec.slots));
        }
        // Who begins to follow now knows the same.
        const later = openOf(new RecentAttempts({ state }, KEPT));
        expect(later.map(({ worker, taskId, attempt }) => `${worker} ${taskId} ${attempt}`).sort()).toEqual(
          known,
        );
      });
    }),
  );
});

function heldIn(state: State): string[] {
  return state.fleet.workers
    .flatMap(({ number, held, ahead }) =>
      [...held.keys(), ...ahead].map((key) => {
        const tasks = state.tasks(runOfKey(key));
        return `${number} ${tasks.taskIdOf(nodeOfKey(key))} ${tasks.attemptOf(nodeOfKey(key))}`;
      }),
    )
    .sort();
}

test("attempts in one slot follow each other, whatever the clocks of workers say", () => {
  const loop = new Loop();
  loop.turn(
    10,
    joins("w", { slots: 2 }),
    submits("r", [aNode("a"), aNode("b"), aNode("c")], { zone: "here" }),
  );
  loop.turn(100, { ...loop.finished("r", "a"), startedAt: 5_000, tookMicros: 20_000 });
  loop.turn(200, { ...loop.failed("r", "b"), startedAt: 3 });
  const { state, recent } = told(loop);
  const { attempts, from } = attemptsOf(state, admin, recent, 0, 10, 250);
  const rows = attempts.map(({ task, lane, assignedAt, startedAt, endedAt }) => {
    return [task?.node, lane, assignedAt, startedAt, endedAt, task?.outcome];
  });
  expect(from).toBe(0);
  expect(rows).toEqual([
    ["a", 0, 10, 80, 100, "finished"],
    ["b", 1, 10, 10, 200, "failed"],
    ["c", 0, 100, -1, -1, undefined],
  ]);
});

test("what ended longest ago goes first, and it is said from when on nothing is missing", () => {
  const loop = new Loop({ keepEndedRuns: 0 });
  loop.turn(0, joins("w"));
  for (let n = 1; n <= 3 * KEPT; n++) {
    loop.turn(n, submits(`r${n}`, [aNode("a")], { zone: "here" }));
    loop.turn(n, loop.finished(`r${n}`, "a"));
  }
  const { state, recent } = told(loop);
  const all = attemptsOf(state, admin, recent, 0, 10 * KEPT, 3 * KEPT);
  expect(all.attempts.length).toBeGreaterThanOrEqual(KEPT);
  expect(all.attempts.length).toBeLessThanOrEqual(2 * KEPT);
  expect(all.attempts[0]?.endedAt).toBe(all.from + 1);
  const few = attemptsOf(state, admin, recent, 0, 10, 3 * KEPT);
  expect([few.attempts.length, few.from]).toEqual([10, 3 * KEPT - 10]);
});

test("what was brought for an attempt is told with when and from whom, whoever may see the attempt", () => {
  const loop = new Loop();
  loop.turn(10, joins("w"), joins("v"), submits("r", [aNode("a")], { zone: "here" }));
  loop.turn(500, {
    ...loop.finished("r", "a"),
    startedAt: 300,
    movedBytes: 7,
    transfers: [[0, 1, -120, 90_500]],
  });
  const { state, recent } = told(loop);
  const seenBy = (caller: typeof admin) => attemptsOf(state, caller, recent, 0, 10, 600).attempts[0];
  expect(seenBy(admin)?.transfers).toEqual([{ from: "v", at: 180, tookMs: 90.5 }]);
  expect(seenBy({ ...admin, agent: "else", isZoneAdmin: false })).toMatchObject({
    task: undefined,
    transfers: [],
  });
});

test("what turns out to have begun before another has its slot", () => {
  const loop = new Loop({ maxQueuePerWorker: 1 });
  loop.turn(10, joins("w"), submits("r", [aNode("a"), aNode("b")], { zone: "here" }));
  const lanes = () => {
    const { state, recent } = told(loop);
    const { attempts } = attemptsOf(state, admin, recent, 0, 10, 600);
    return attempts.map(({ task, lane }) => `${task?.node} ${lane}`).sort();
  };
  expect(lanes()).toEqual(["a 0", "b -1"]);
  loop.turn(50, loop.finished("r", "b"));
  expect(lanes()).toEqual(["a 0", "b 0"]);
});
