import { type Static, type TSchema, Type } from "typebox";

/** What the schemas of the HTTP API have in common. Names are in snake_case, as on the wire. */

/** One line of text that can be shown and typed: no control characters, no broken Unicode. */
const NAME_PATTERN = "^[^\\p{Cc}\\p{Cs}]*$";
export const MAX_NAME = 256;

export function Name(description: string, example: string) {
  return Type.String({
    minLength: 1,
    maxLength: MAX_NAME,
    pattern: NAME_PATTERN,
    description,
    examples: [example],
  });
}

/** A time that is there or not. */
export function TimeOrNull(description: string) {
  return OrNull(Type.String({ format: "date-time", description, examples: ["2026-03-01T10:00:00.000Z"] }));
}

export function Time(description: string) {
  return Type.String({ format: "date-time", description, examples: ["2026-03-01T10:00:00.000Z"] });
}

export function OrNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

export const KeyIdOrNull = OrNull(
  Type.String({
    description: "Id of the key that it belongs to and ends with; null if it belongs to no key.",
  }),
);
export const SuspendedReason = OrNull(
  Type.String({
    description: "Why it stands still: the key that it belongs to has ended. Null if it goes on.",
    examples: ["its key was revoked"],
  }),
);

export const Uuid = Type.String({
  format: "uuid",
  description: "A task's id.",
  examples: ["0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d"],
});

/** Money in decimals, as text: a fraction of a cent must not get lost on the way. */
export const Amount = Type.String({
  pattern: "^\\d+(\\.\\d{1,6})?$",
  description: "A decimal with up to 6 places.",
  examples: ["0.02"],
});

export const Count = Type.Integer({ minimum: 0 });

export const PRIORITY_NAMES = ["critical", "high", "normal", "low", "best_effort"] as const;
export const REQUEST_STATE_NAMES = ["io_wait", "compute", "tool_call", "idle", "pending"] as const;
const PRIORITY_CLASS_NAMES = ["interactive", "batch", "background"] as const;
export const TASK_STATUSES = ["queued", "running", "completed", "failed", "cancelled"] as const;

export const TaskStatus = Type.Enum([...TASK_STATUSES], { description: "Where the task is in its life." });
export const PriorityClassName = Type.Enum([...PRIORITY_CLASS_NAMES], {
  description: "The class that the queue orders by first.",
});
export const CountsByStatus = Type.Object(
  { queued: Count, running: Count, completed: Count, failed: Count, cancelled: Count },
  { description: "How many tasks have each status." },
);

/** Where the next page begins. */
export const NextCursor = OrNull(
  Type.String({ description: "Give it as `cursor` to get the next page; null: this was the last." }),
);

export type ErrorItem = Static<typeof ErrorItem>;
export const ErrorItem = Type.Object({
  in: Type.Enum(["body", "query", "path", "header"], { description: "The part of the request." }),
  pointer: Type.String({ description: "JSON pointer to what is wrong, from that part on." }),
  detail: Type.String({ description: "What is wrong with it, and what would be right." }),
  line: Type.Optional(Type.Integer({ minimum: 1, description: "Of a graph file." })),
  column: Type.Optional(Type.Integer({ minimum: 1 })),
  path: Type.Optional(Type.String({ description: "In a graph file, such as nodes.fetch.timeout." })),
});

/** RFC 9457. */
export type ProblemDocument = Static<typeof ProblemDocument>;
export const ProblemDocument = Type.Object(
  {
    type: Type.String({ description: "A URI that stands for the code.", examples: ["/problems/invalid"] }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String(),
    code: Type.String({ description: "Stable; for programs.", examples: ["invalid"] }),
    errors: Type.Optional(Type.Array(ErrorItem)),
    progress: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: "How far what has to be waited for has come." }),
    ),
    retry_after: Type.Optional(
      Type.Integer({ minimum: 1, description: "Seconds until it may go better, as Retry-After says them." }),
    ),
    request_id: Type.String({ description: "As in X-Request-Id and in the server's log." }),
  },
  { title: "Problem", description: "What went wrong, as RFC 9457 has it." },
);
