import { type Static, Type } from "typebox";
import { Count, OrNull, Time, Uuid } from "./api-parts.ts";
import { Candidate } from "./api-why.ts";

const Seq = Type.Integer({ minimum: 0, description: "Of an event in the ledger." });

export type InstantAnswer = Static<typeof InstantAnswer>;
export const InstantAnswer = Type.Object({ seq: Seq, at: Time("When it was.") }, { title: "Instant" });

export type MomentsAnswer = Static<typeof MomentsAnswer>;
export const MomentsAnswer = Type.Object(
  {
    first: InstantAnswer,
    last: InstantAnswer,
    buckets: Type.Array(
      Type.Object({
        seq: Type.Integer({ minimum: 0, description: "The last event of the bucket." }),
        at: Time("When that was."),
        kinds: Type.Record(Type.String(), Count, {
          description: "How many events of each kind.",
          examples: [{ TaskSubmitted: 12, TaskAssigned: 9 }],
        }),
      }),
      { description: "As many events each, in order and without gaps." },
    ),
  },
  { title: "Moments" },
);

export type LedgerEventAnswer = Static<typeof LedgerEventAnswer>;
export const LedgerEventAnswer = Type.Object(
  {
    seq: Seq,
    at: Time("When it was."),
    kind: Type.String({ examples: ["TaskAssigned"] }),
    zone: OrNull(Type.String()),
    task_id: OrNull(Uuid),
    run_id: OrNull(Type.String()),
    worker_id: OrNull(Type.String()),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: "Its fields as they are recorded; of a graph only how many nodes it has.",
    }),
  },
  { title: "LedgerEvent" },
);

export type LedgerEventsAnswer = Static<typeof LedgerEventsAnswer>;
export const LedgerEventsAnswer = Type.Object(
  { events: Type.Array(LedgerEventAnswer), last_seq: Seq },
  { title: "LedgerEvents" },
);

export type PlacementAnswer = Static<typeof PlacementAnswer>;
export const PlacementAnswer = Type.Object(
  {
    seq: Seq,
    at: Time("When it was placed."),
    attempt: Count,
    worker_id: Type.String(),
    decided_by: Type.String({
      description: "What set the worker apart from the next.",
      examples: ["tasks held (0 against 1)"],
    }),
    candidates: Type.Array(Candidate, {
      description: "All that serve the zone, in the state of then: the chosen one first.",
    }),
  },
  { title: "Placement" },
);
