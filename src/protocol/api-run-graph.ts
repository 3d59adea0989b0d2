import { type Static, Type } from "typebox";
import { Count, NextCursor, OrNull, Time, TimeOrNull } from "./api-parts.ts";

/**
 * A run by columns: a number or a name for each node, in the order in which they were submitted. What does not change
 * is asked for once, and what does only as far as it did: a run of twenty thousand nodes is looked at while it runs.
 */

const Indexes = Type.Array(Count);
const Ms = Type.Array(Type.Integer({ minimum: -1 }));

export type RunGraphAnswer = Static<typeof RunGraphAnswer>;
export const RunGraphAnswer = Type.Object(
  {
    run_id: Type.String(),
    nodes: Type.Array(Type.String(), { description: "Their ids." }),
    kinds: Type.Array(
      Type.Object({
        task_type: Type.String(),
        executor: Type.String(),
        estimate: Type.Number({ minimum: 0, description: "Seconds." }),
      }),
    ),
    kind: Type.Array(Count, { description: "For each node the index of its kind." }),
    edges: Type.Array(Count, {
      description: "Indexes of nodes in pairs: what is needed, and who needs it.",
    }),
    handed: OrNull(
      Type.Array(Count, {
        description:
          "Of the edges, by index, those along which a result is handed over; null where nodes hand nothing on.",
      }),
    ),
    parent: OrNull(
      Type.Object(
        { run_id: Type.String(), node: Type.String() },
        { description: "The node whose task added this run, as long as its run is remembered." },
      ),
    ),
  },
  { title: "RunGraph", description: "What does not change about a run." },
);

export const NODE_STATUSES = [
  "waiting",
  "held",
  "ready",
  "delayed",
  "running",
  "completed",
  "failed",
  "cancelled",
  "skipped",
  "unknown",
] as const;

export type RunNodesAnswer = Static<typeof RunNodesAnswer>;
export const RunNodesAnswer = Type.Object(
  {
    run_id: Type.String(),
    at: Time("When it was looked at."),
    next: NextCursor,
    nodes: OrNull(
      Type.Array(Count, { description: "Of which nodes the columns are, ascending; null: of all." }),
    ),
    statuses: Type.Array(Type.Enum([...NODE_STATUSES]), {
      description: "What the numbers of `status` mean.",
    }),
    status: Indexes,
    attempt: Indexes,
    started: Type.Array(Type.Integer({ minimum: -1 }), {
      description:
        "Of the last attempt, in milliseconds after the run was submitted; -1: not yet, or not known.",
    }),
    ended: Ms,
    workers: Type.Array(Type.String()),
    worker: Type.Array(Type.Integer({ minimum: -1 }), { description: "Index among `workers`; -1: none." }),
    bytes: Type.Array(Count, { description: "Of its result, where nodes hand results to each other." }),
    errors: Type.Array(Type.Object({ node: Count, code: Type.String(), message: Type.String() }), {
      description: "Of those of them that failed, the first hundred.",
    }),
    tried: Type.Array(
      Type.Object({
        node: Count,
        alternatives: Count,
        open: Count,
        winner: OrNull(Type.String({ description: "Its tag." })),
      }),
      { description: "Those of them that are, or were, tried in several ways at once." },
    ),
    added: Type.Array(Type.Object({ node: Count, run_id: Type.String() }), {
      description: "Those of them whose tasks added nodes, with the runs that these are.",
    }),
  },
  { title: "RunNodes", description: "Where the nodes of a run stand." },
);

export type RunForecastAnswer = Static<typeof RunForecastAnswer>;
export const RunForecastAnswer = Type.Object(
  {
    run_id: Type.String(),
    planned_at: Time("When this was found out."),
    expected_end: TimeOrNull("When the last node should end; null where some node is in no plan."),
    earliest_end: TimeOrNull("No order of what remains ends before this."),
    nodes: Type.Array(Count, { description: "Those that are planned." }),
    start: Type.Array(Type.Integer(), {
      description: "When each should start, in milliseconds after the run was submitted.",
    }),
    end: Type.Array(Type.Integer()),
    critical: Type.Array(Count, { description: "Nodes whose delay delays the end." }),
    skipped: Type.Array(Type.Object({ node: Count, code: Type.String() }), {
      description: "Nodes that are in no plan, and why; the first hundred.",
    }),
  },
  {
    title: "RunForecast",
    description: "What the plan of a run says of what remains; empty for a run that has ended.",
  },
);
