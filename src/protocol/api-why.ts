import { type Static, Type } from "typebox";
import { ChangeAnswer } from "./api-changes.ts";
import { Count, OrNull, TaskStatus, Uuid } from "./api-parts.ts";

/** A worker as one that might take a task. */
export type Candidate = Static<typeof Candidate>;
export const Candidate = Type.Object({
  worker_id: Type.String(),
  rank: OrNull(Type.Integer({ minimum: 1, description: "1 is the best; null: it could not take it." })),
  rejection: OrNull(Type.String({ description: "Why it could not take it." })),
  held: Type.Integer({ minimum: 0, description: "Tasks that it has." }),
  free_cpu: Type.Number({ description: "Cores." }),
  free_memory: Type.Integer({ description: "Bytes." }),
  executed_before: Type.Boolean({ description: "It has completed tasks of this type." }),
  score: Type.Number(),
});

export type WhyAnswer = Static<typeof WhyAnswer>;
export const WhyAnswer = Type.Object({
  id: Uuid,
  status: TaskStatus,
  waiting: Type.Array(
    Type.Object(
      { code: Type.String(), text: Type.String() },
      { additionalProperties: true, description: "A reason with its parameters." },
    ),
    { description: "Why it does not run yet, the primary reason first." },
  ),
  placed: OrNull(
    Type.Object(
      {
        worker_id: Type.String(),
        attempt: Type.Integer({ minimum: 1 }),
        reason: Type.Record(Type.String(), Type.Unknown()),
        runner_up: OrNull(Type.String()),
        rejected: Type.Record(Type.String(), Count, {
          description: "How many workers were rejected for what.",
        }),
        recalled: Type.Optional(
          Type.Object(
            {
              worker_id: Type.String(),
              idle_worker_id: Type.String(),
              attempt: Type.Integer({ minimum: 1 }),
              wait_micros: Count,
              queue_micros: Count,
              move_micros: Count,
            },
            {
              description:
                "The worker of this attempt, or of the one before it, was asked to give it back, since another stood idle: the expected wait, that behind others given back with it, and the time to bring its inputs.",
            },
          ),
        ),
        text: Type.String(),
      },
      { description: "Why it runs, or last ran, where it does." },
    ),
  ),
  inputs: OrNull(
    Type.Array(
      Type.Object({
        node: Type.String(),
        bytes: Count,
        at: Type.Enum(["task", "workers", "nowhere"]),
        workers: Type.Array(Type.String()),
        text: Type.String(),
      }),
      {
        description:
          "Where the results are that it gets from other nodes, up to a hundred; null for what has ended, and where nodes " +
          "hand nothing to each other.",
      },
    ),
  ),
  ahead: Type.Array(Type.Object({ task_id: Uuid, node: OrNull(Type.String()) }), {
    description: "The first of those that go before it, without those that the caller may not see.",
  }),
  forecast: OrNull(
    Type.Object(
      {
        starts_in: Type.Number({ minimum: 0, description: "Seconds." }),
        tasks_ahead: Count,
        slots: Type.Integer({ minimum: 0, description: "Of the workers that could run it." }),
      },
      {
        description:
          "If everything takes as long as was estimated. Null: as things stand it does not start, or nobody can say when.",
      },
    ),
  ),
  chain: Type.Array(Type.Object({ node: Type.String(), status: Type.String() }), {
    description: "What it hangs on, each on the next; the last is what holds it up.",
  }),
  sooner: Type.Array(
    Type.Object({
      change: ChangeAnswer,
      text: Type.String({ description: "To follow: it would start sooner if." }),
      starts_in: Type.Number({ minimum: 0, description: "Seconds." }),
    }),
    {
      description:
        "While it waits: changes that would make it start sooner, the best first. Each was tried on a copy of the state, " +
        "with everything taking as long as was estimated.",
    },
  ),
  candidates: Type.Array(Candidate, {
    description: "While it waits: the workers that serve its zone, as they are now.",
  }),
});
