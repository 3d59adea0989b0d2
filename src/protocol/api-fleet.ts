import { type Static, Type } from "typebox";
import { Count, OrNull, Time } from "./api-parts.ts";

/** Milliseconds since 1970: columns of these are half as long as columns of texts. */
const Ms = Type.Integer({ minimum: 0 });
const Column = <Schema extends Parameters<typeof Type.Array>[0]>(schema: Schema, description: string) =>
  Type.Array(schema, { description });

const ATTEMPT_OUTCOMES = [
  "running",
  "finished",
  "failed",
  "timed out",
  "lost",
  "cancelled",
  "expanded",
  "other work",
] as const;

export type AttemptsAnswer = Static<typeof AttemptsAnswer>;
export const AttemptsAnswer = Type.Object(
  {
    at: Time("When it was looked at."),
    now_ms: Ms,
    from_ms: Type.Integer({ minimum: 0, description: "Nothing that ended later is missing." }),
    workers: Type.Array(Type.String(), { description: "By the place that the columns name." }),
    types: Type.Array(Type.String(), { description: "Task types, by the place that the columns name." }),
    attempts: Type.Object(
      {
        worker: Column(Count, "Its place among `workers`."),
        lane: Column(
          Type.Integer({ minimum: -1 }),
          "The slot of its worker; -1: it waits for one, or never got one.",
        ),
        task: Column(OrNull(Type.String()), "Null: another agent's."),
        node: Column(OrNull(Type.String()), "Where it is a node of a run."),
        attempt: Column(Count, "0: another agent's."),
        type: Column(Type.Integer({ minimum: -1 }), "Its place among `types`; -1: another agent's."),
        assigned_ms: Column(Ms, "When it was given to the worker."),
        started_ms: Column(OrNull(Ms), "When it began; null: not that anybody knows."),
        ended_ms: Column(OrNull(Ms), "When it ended; null: not yet."),
        outcome: Column(Type.Enum([...ATTEMPT_OUTCOMES]), "How it ended, or that it has not."),
      },
      { description: "A column each, in the order in which they were given to workers." },
    ),
    transfers: Type.Object(
      {
        attempt: Column(Count, "The row of the attempt that it was for."),
        from: Column(Count, "The place among `workers` of the one that had it."),
        began_ms: Column(Ms, "When it began."),
        took_ms: Column(Type.Number({ minimum: 0 }), "How long it took."),
      },
      { description: "What was brought from other workers, a column each." },
    ),
  },
  { title: "Attempts" },
);

export type QueuesAnswer = Static<typeof QueuesAnswer>;
export const QueuesAnswer = Type.Object(
  {
    zone: Type.String(),
    paused: Type.Boolean({ description: "Nothing of the zone is started." }),
    max_concurrent: OrNull(
      Type.Integer({
        minimum: 0,
        description: "What an agent without a limit of its own may run at once; null: any number.",
      }),
    ),
    own_max_concurrent: Type.Boolean({
      description: "Whether it was set for this zone, rather than for all.",
    }),
    queues: Type.Array(
      Type.Object({
        executor: Type.String(),
        paused: Type.Boolean({ description: "Nothing of this executor is started." }),
        ready: Type.Integer({ minimum: 0, description: "Could start if there were room." }),
        running: Count,
        oldest_wait: Type.Number({ minimum: 0, description: "Of the oldest that is ready, in seconds." }),
        workers: Type.Integer({ minimum: 0, description: "That serve it in this zone." }),
      }),
      { description: "Those with work, a worker or a pause; whoever is no admin is told of their own work." },
    ),
  },
  { title: "Queues" },
);
