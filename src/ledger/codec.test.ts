import fc from "fast-check";
import { expect, test } from "vitest";
import { anyEventOf, EVENT_KINDS } from "../../tests/any-event.ts";
import { InvariantError } from "../core/index.ts";
import { decodeEvent, encodeEvent, isDecision } from "./index.ts";

test.each(EVENT_KINDS)("every %s reads back as it was written", (kind) => {
  fc.assert(
    fc.property(anyEventOf(kind), (event) => {
      expect(decodeEvent(JSON.parse(encodeEvent(event)))).toEqual(event);
    }),
    { seed: 1, numRuns: 200 },
  );
});

test("an event is the array of its kind and fields, in the fixed order that old ledgers have", () => {
  const assigned = encodeEvent({
    kind: "TaskAssigned",
    run: 1,
    node: 2,
    attempt: 3,
    worker: 4,
    reason: { type: "ResourceFit", availableCpu: 500, requiredCpu: 200 },
    runnerUp: -1,
    rejected: [0, 0, 7],
  });
  expect(assigned).toBe('["TaskAssigned",1,2,3,4,["ResourceFit",500,200],-1,[0,0,7]]');
  const finished = encodeEvent({
    kind: "AttemptFinished",
    run: 1,
    node: 2,
    attempt: 3,
    startedAt: 9,
    resultHash: "",
    resultBytes: 5,
  });
  expect(finished).toBe('["AttemptFinished",1,2,3,9,"",5]');
});

test("a kind of a later version, or what is no event, is refused", () => {
  expect(() => decodeEvent(["TaskTeleported", 1])).toThrow(InvariantError);
  expect(() => decodeEvent(["toString"])).toThrow(InvariantError);
  expect(() => decodeEvent({ kind: "RunEnded" })).toThrow(InvariantError);
});

test("decisions are what the step decides; everything else came from outside", () => {
  const decisions = EVENT_KINDS.filter((kind) => isDecision(fc.sample(anyEventOf(kind), 1)[0] ?? never()));
  expect(decisions).toEqual([
    "CacheEvicted",
    "ChunksFreed",
    "TasksWithdrawn",
    "TaskRecalled",
    "NodesRecomputed",
    "TaskAssigned",
    "TaskSpeculated",
    "VoteTaken",
    "TaskReused",
    "ExpansionEnded",
    "TaskRetried",
    "TaskFailed",
    "TaskCancelled",
    "TasksSkipped",
    "CancelSignalled",
    "ReservationMade",
    "RoomReserved",
    "RunEnded",
  ]);
});

function never(): never {
  throw new Error("fast-check samples one");
}
