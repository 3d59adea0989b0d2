import { type Static, Type } from "typebox";
import { Count, Name, OrNull, PRIORITY_NAMES, Time, Uuid } from "./api-parts.ts";

const Worker = Name("A worker that is there at that moment.", "worker-1");
const Most = OrNull(Type.Integer({ minimum: 0, description: "Null: no limit." }));
const Kind = <Text extends string>(kind: Text) => Type.Literal(kind);

/** Of which an answer has the first. */
export const MOST_MOVED = 200;

export type WhatIfChange = Static<typeof WhatIfChange>;
export const WhatIfChange = Type.Union(
  [
    Type.Object({
      kind: Kind("more-workers"),
      like: Worker,
      count: Type.Integer({ minimum: 1, maximum: 1000 }),
    }),
    Type.Object({ kind: Kind("without-worker"), worker: Worker }),
    Type.Object({
      kind: Kind("slots"),
      worker: Worker,
      slots: Type.Integer({ minimum: 1, maximum: 100_000 }),
    }),
    Type.Object({
      kind: Kind("strategy"),
      strategy: Type.Enum(["round-robin", "least-loaded", "random", "affinity"]),
    }),
    Type.Object({ kind: Kind("order"), order: Type.Enum(["hrrn", "classic", "graph"]) }),
    Type.Object({ kind: Kind("prefetch"), prefetch: Type.Integer({ minimum: 0, maximum: 10_000 }) }),
    Type.Object({
      kind: Kind("priority"),
      priority: Type.Enum([...PRIORITY_NAMES]),
      agent: Type.Optional(Name("Of its tasks.", "agent-1")),
      type: Type.Optional(Name("Of tasks of this type.", "resize")),
    }),
    Type.Object({ kind: Kind("agent-limit"), agent: Name("An agent.", "agent-1"), max: Most }),
    Type.Object({ kind: Kind("limit"), name: Name("A limit.", "openai"), max: Most }),
    Type.Object({
      kind: Kind("speculation"),
      ways: Type.Integer({
        minimum: 0,
        maximum: 5,
        description: "In how many ways risky nodes on the critical path are tried at once; 0: none is.",
      }),
    }),
  ],
  { description: "What is otherwise from that moment on." },
);

export type WhatIfBody = Static<typeof WhatIfBody>;
export const WhatIfBody = Type.Object(
  {
    at: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "The event after which things go otherwise; by default the last.",
      }),
    ),
    changes: Type.Array(WhatIfChange, { maxItems: 50 }),
    durations: Type.Optional(
      Type.Enum(["actual", "estimated"], {
        default: "actual",
        description: "Whether attempts take as long as they did, where that is known, or as was estimated.",
      }),
    ),
  },
  { examples: [{ changes: [{ kind: "more-workers", like: "worker-1", count: 2 }] }] },
);

const Seconds = Type.Number({ minimum: 0 });

const Score = Type.Object({
  ended: Count,
  unfinished: Count,
  makespan: Type.Number({ minimum: 0, description: "Until the last task ended, in seconds." }),
  wait: Type.Object(
    { mean: Seconds, p50: Seconds, p95: Seconds, max: Seconds },
    { description: "Of tasks that began after that moment, in seconds." },
  ),
  utilisation: Type.Number({ minimum: 0, maximum: 1, description: "Of the time of all slots." }),
  fairness: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "1: all agents waited alike, in proportion to how long their tasks ran.",
  }),
  agents: Type.Array(Type.Object({ agent: Type.String(), tasks: Count, mean_wait: Seconds })),
});

const Played = Type.Object({
  worker: Type.String(),
  started_at: Time("When it began."),
  ended_at: OrNull(Time("When it ended; null: it did not.")),
});

export type WhatIfAnswer = Static<typeof WhatIfAnswer>;
export const WhatIfAnswer = Type.Object(
  {
    at: Type.Integer({ minimum: 0, description: "The event after which things go otherwise." }),
    now: Time("When that was."),
    is_whole: Type.Boolean({ description: "False: there was too much to play all of it." }),
    left_out: Type.Record(Type.String(), Count, {
      description: "What happened after that moment and not in the plays, by kind.",
    }),
    as_is: Score,
    changed: Score,
    moved: Type.Object({
      total: Type.Integer({ minimum: 0, description: "Tasks that went otherwise." }),
      sooner: Count,
      later: Count,
      elsewhere: Type.Integer({ minimum: 0, description: "On another worker." }),
      tasks: Type.Array(
        Type.Object({
          task_id: Uuid,
          run_id: OrNull(Type.String()),
          node: OrNull(Type.String()),
          type: Type.String(),
          agent: Type.String(),
          as_is: OrNull(Played),
          changed: OrNull(Played),
        }),
        { description: `Those whose beginnings lie furthest apart first, at most ${MOST_MOVED}.` },
      ),
    }),
  },
  { title: "What if" },
);
