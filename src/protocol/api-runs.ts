import { type Static, Type } from "typebox";
import type { LedgerEvent } from "../ledger/index.ts";
import {
  Count,
  CountsByStatus,
  Name,
  NextCursor,
  OrNull,
  TaskStatus,
  Time,
  TimeOrNull,
  Uuid,
} from "./api-parts.ts";

/** Ids are shared by all zones: one that can be guessed could be taken away, or tell that it is taken. */
export const NewRunId = Type.String({
  format: "uuid",
  description: "A UUID; by default a new one.",
  examples: ["0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d"],
});

/** A run by JSON. The graph file itself may be sent as well, as YAML or JSON. */
export type RunBody = Static<typeof RunBody>;
export const RunBody = Type.Object(
  {
    graph: Type.Record(Type.String(), Type.Unknown(), {
      description: "What stands in a graph file.",
      examples: [{ nodes: { fetch: { task: "fetch" }, clean: { task: "clean", needs: ["fetch"] } } }],
    }),
    name: Type.Optional(Name("Beats the graph's own name.", "nightly")),
    id: Type.Optional(NewRunId),
    fail_fast: Type.Optional(Type.Boolean({ default: false, description: "A failed node ends the run." })),
  },
  { title: "RunSubmission", additionalProperties: false },
);

const RunStatus = Type.Enum(["running", "completed", "failed", "cancelled"]);

const summary = {
  id: Type.String(),
  name: Type.String(),
  zone: Type.String(),
  agent_id: Type.String(),
  status: RunStatus,
  nodes: Count,
  submitted_at: Time("When it was submitted."),
  completed_at: TimeOrNull("When it ended, however it did."),
};

export type RunSummary = Static<typeof RunSummary>;
export const RunSummary = Type.Object(summary, { title: "RunSummary" });

export type RunAnswer = Static<typeof RunAnswer>;
export const RunAnswer = Type.Object(
  {
    ...summary,
    counts: CountsByStatus,
    data: OrNull(
      Type.Object(
        { held_bytes: Count, moved_bytes: Count, freed_bytes: Count },
        {
          description:
            "What is on workers now of what nodes hand to each other, and what was moved between them and freed so far; " +
            "null where nodes hand nothing to each other, and for runs that ended long ago.",
        },
      ),
    ),
    stuck: Type.Array(Type.Object({ node: Type.String(), nodes: Count, text: Type.String() }), {
      description:
        "Ready nodes that no worker which is connected could run, such as those of a task type that none knows: " +
        "of each kind the first, how many there are, and why. They wait until one comes. " +
        "A node that another one added is named behind it, as outer/inner.",
    }),
  },
  { title: "Run" },
);

export type RunPlanAnswer = Static<typeof RunPlanAnswer>;
export const RunPlanAnswer = Type.Object(
  {
    run_id: Type.String(),
    status: RunStatus,
    planned_at: Time("When this was found out."),
    expected_end: TimeOrNull(
      "When the last node should end; null for a run that has ended, and where some node is in no plan.",
    ),
    earliest_end: TimeOrNull("No order of what remains ends before this."),
    nodes: Type.Array(
      Type.Object({
        node: Type.String(),
        task_id: Uuid,
        status: TaskStatus,
        started_at: TimeOrNull("When its last attempt started."),
        ended_at: TimeOrNull("When it ended, however it did."),
        expected_start: TimeOrNull("When it should start; null where it has started or nobody can say."),
        expected_end: TimeOrNull("When it should end."),
        critical: Type.Boolean({ description: "A delay of it delays the end of the run." }),
        skipped: OrNull(Type.String({ description: "Why it is in no plan." })),
        alternatives: Type.Array(Type.String(), {
          description: "The tags of the alternatives in which it is tried now and that have not ended.",
        }),
      }),
    ),
  },
  { title: "RunPlan" },
);

export type RunLine = Static<typeof RunLine>;
export const RunLine = Type.Object(
  { ...summary, counts: OrNull(CountsByStatus) },
  {
    title: "RunLine",
    description:
      "`counts` is null for runs that did not complete and ended long ago; the run itself has them.",
  },
);

export type RunPage = Static<typeof RunPage>;
export const RunPage = Type.Object({ runs: Type.Array(RunLine), next: NextCursor });

export type RunCancelled = Static<typeof RunCancelled>;
export const RunCancelled = Type.Object({ cancelled: Type.Boolean(), run_id: Type.String() });

/** What is told of tasks and runs; the rest of the ledger is the operators' affair. */
const EVENT_KINDS = [
  "TaskSubmitted",
  "TaskAssigned",
  "TaskSpeculated",
  "VoteTaken",
  "TaskBudgetExhausted",
  "TaskRecharged",
  "TaskRecalled",
  "TaskRetried",
  "TaskFailed",
  "TaskCancelled",
  "TasksSkipped",
  "AttemptStarted",
  "AttemptFinished",
  "AttemptFailed",
  "AttemptTimedOut",
  "AttemptLost",
  "AttemptCancelled",
  "ReportRefused",
  "CancelRequested",
  "CancelSignalled",
  "ReservationMade",
  "RoomReserved",
  "RunSubmitted",
  "RunEnded",
  "EventsMissed",
] as const satisfies readonly (LedgerEvent["kind"] | "EventsMissed")[];

/** What an event stream carries as `data`. */
export type EventData = Static<typeof EventData>;
export const EventData = Type.Object(
  {
    id: Type.String({ description: "Give it as `after` or Last-Event-ID to go on after it." }),
    kind: Type.String({
      description: `A fact in the past tense: ${EVENT_KINDS.join(", ")}. There may be more.`,
      examples: ["TaskAssigned"],
    }),
    at: Time("When it was recorded."),
    task_id: OrNull(Type.String({ description: "The task that it is about." })),
    run_id: OrNull(Type.String({ description: "The run that it is about." })),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: "What else there is to say, by kind: the attempt, the worker, the node, the reason.",
    }),
  },
  { title: "Event" },
);
