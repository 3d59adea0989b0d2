import { type Static, Type } from "typebox";
import { Count, OrNull, PRIORITY_NAMES, Time, Uuid } from "./api-parts.ts";

const Priority = Type.Enum([...PRIORITY_NAMES]);

/** One thing that somebody could change, so that a task starts sooner. */
const OneChange = Type.Union([
  Type.Object({
    kind: Type.Literal("resume"),
    executors: Type.Array(Type.String({ description: "Empty: the whole zone." })),
  }),
  Type.Object({ kind: Type.Literal("agent-limit"), agent: Type.String(), from: Count, to: Count }),
  Type.Object({ kind: Type.Literal("limit"), limit: Type.String(), from: Count, to: Count }),
  Type.Object({
    kind: Type.Literal("rate"),
    limit: Type.String(),
    from: Count,
    to: Count,
    per_seconds: Type.Number(),
  }),
  Type.Object({
    kind: Type.Literal("worker"),
    count: Type.Integer({ minimum: 1 }),
    like: OrNull(Type.String({ description: "A worker that is there; null: there is none to be like." })),
    adds: Type.Object(
      {
        executor: Type.Optional(Type.String()),
        task_types: Type.Optional(Type.Array(Type.String())),
        capabilities: Type.Optional(Type.Array(Type.String())),
        cpu_millicores: Type.Optional(Count),
        memory_bytes: Type.Optional(Count),
      },
      { description: "What it would have to have beyond that." },
    ),
  }),
  Type.Object({ kind: Type.Literal("priority"), from: Priority, to: Priority }),
  Type.Object({ kind: Type.Literal("at-once"), due_at: Time("When it is due as it is.") }),
  Type.Object({ kind: Type.Literal("cancel"), task_id: Uuid, node: OrNull(Type.String()) }),
  Type.Object({
    kind: Type.Literal("recharge"),
    task_id: Uuid,
    node: OrNull(Type.String()),
    part: Type.Enum(["ops", "memory", "spawn_count", "channel_ops", "syscalls"], {
      description: "What it has used up.",
    }),
    amount: Type.Integer({ minimum: 1, description: "As much again as it had." }),
  }),
]);

export type ChangeAnswer = Static<typeof ChangeAnswer>;
export const ChangeAnswer = Type.Union([
  OneChange,
  Type.Object({ kind: Type.Literal("together"), changes: Type.Array(OneChange) }),
]);
