import { type Static, Type } from "typebox";
import { Count, OrNull, Time } from "./api-parts.ts";

const CLASSES = ["interactive", "batch", "background"] as const;
const Seconds = Type.Number({ minimum: 0 });
const Quantiles = OrNull(
  Type.Object(
    { p50: Seconds, p95: Seconds, p99: Seconds },
    { description: "In seconds; null: nothing was measured." },
  ),
);

export type OverviewAnswer = Static<typeof OverviewAnswer>;
export const OverviewAnswer = Type.Object(
  {
    zone: Type.String(),
    at: Time("When it was looked at."),
    classes: Type.Array(
      Type.Object({
        priority_class: Type.Enum([...CLASSES]),
        ready: Type.Integer({ minimum: 0, description: "Could start if there were room." }),
        running: Count,
        oldest_wait: Type.Number({ minimum: 0, description: "Of the oldest that is ready, in seconds." }),
      }),
    ),
    waiting: Type.Record(Type.String(), Count, {
      description: "All that waits, by the first reason that applies.",
      examples: [{ Capacity: 12, Admission: 3 }],
    }),
    ended: Type.Object({ completed: Count, failed: Count, cancelled: Count }),
    per_second: Type.Object(
      { submitted: Seconds, started: Seconds, ended: Seconds },
      { description: "Over the last ten seconds." },
    ),
    last_minute: Type.Object(
      { submitted: Type.Array(Count), started: Type.Array(Count), ended: Type.Array(Count) },
      { description: "How much happened in each second, oldest first." },
    ),
    wait: Quantiles,
    commit: Quantiles,
    workers: Count,
    slots: Type.Object({
      busy: Count,
      free: Count,
      closed: Type.Integer({ minimum: 0, description: "Of workers that take nothing new." }),
    }),
    agents: Type.Array(
      Type.Object({ agent: Type.String(), running_count: Count, max_concurrent: OrNull(Count) }),
      { description: "Those with most running; only for admins others than oneself." },
    ),
    data_runs: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        held_bytes: Type.Integer({ minimum: 0, description: "On workers now." }),
        moved_bytes: Type.Integer({ minimum: 0, description: "Brought from worker to worker so far." }),
        freed_bytes: Type.Integer({ minimum: 0, description: "Freed so far." }),
      }),
      {
        description:
          "The latest runs that have not ended and whose nodes hand data to each other, with what their tasks added.",
      },
    ),
  },
  { title: "Overview" },
);

/** Whether the ledger makes the state that the scheduler has. */
const ReplayStanding = Type.Object(
  {
    seq: Type.Integer({ minimum: 0, description: "After which event they were compared." }),
    equal: Type.Boolean(),
  },
  { description: "Whether the state by replay is the one that the scheduler has; null: not compared yet." },
);

export type ReplayAnswer = Static<typeof ReplayAnswer>;
export const ReplayAnswer = Type.Object(
  { replay: OrNull(ReplayStanding) },
  { title: "Replay", description: "Null: the state is too large to be compared while the server works." },
);

export type LedgerHeadAnswer = Static<typeof LedgerHeadAnswer>;
export const LedgerHeadAnswer = Type.Object(
  {
    epoch: Count,
    seq: Type.Integer({ minimum: 0, description: "Of the last event." }),
    hash: Type.String({ description: "Of the last block, which stands for all before it." }),
    verified_to: Type.Integer({
      minimum: 0,
      description: "Up to here it was read again since the server leads, and is as it was written.",
    }),
    damage: OrNull(
      Type.Object(
        { seq: Count, code: Type.String(), detail: Type.String() },
        { description: "The first event that is not as it was written." },
      ),
    ),
    replay: OrNull(ReplayStanding),
  },
  { title: "LedgerHead" },
);
