import { taskIdOf } from "../core/index.ts";
import type { EndedTask, RunRow, WebhookRow } from "../store/index.ts";

export const EVENT_TYPES = ["task.completed", "task.failed", "task.cancelled", "run.ended"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Sent when somebody asks for it, to whatever webhook. */
export const TEST_EVENT = "webhook.test";

/** Larger results are left out: whoever needs them fetches them. */
export const MAX_RESULT_BYTES = 64 * 1024;

/** Something that ended. */
export type Ended =
  | { readonly kind: "task"; readonly row: EndedTask }
  | { readonly kind: "run"; readonly row: RunRow };

/** Undefined: it is not told. */
export function eventTypeOf(ended: Ended): EventType | undefined {
  if (ended.kind === "run") return "run.ended";
  const { id, run, status, attempt } = ended.row;
  // Of a node that is tried in several ways, only what becomes of the node itself.
  if (run && id !== taskIdOf(run.id, run.node)) return undefined;
  // A node that an earlier run had done already is done from the start, which is nothing that happened.
  if (status === "completed") return attempt > 0 ? "task.completed" : undefined;
  if (status === "failed") return "task.failed";
  return status === "cancelled" ? "task.cancelled" : undefined;
}

export function isActive({ disabledAt }: WebhookRow): boolean {
  return disabledAt === -1;
}

export function wants(webhook: WebhookRow, type: EventType, { kind, row }: Ended): boolean {
  return (
    webhook.zone === row.zone &&
    row.endedAt >= webhook.since &&
    webhook.events.includes(type) &&
    isAmong(webhook.agents, row.agent) &&
    // A run has neither: its tasks do.
    (kind === "run" || (isAmong(webhook.types, row.type) && isAmong(webhook.executors, row.executor)))
  );
}

function isAmong(names: readonly string[], name: string): boolean {
  return names.length === 0 || names.includes(name);
}

export function bodyOf(type: string, at: number, data: unknown): string {
  return JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
}
