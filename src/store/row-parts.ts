import {
  type SubmittedTask,
  type TaskFilter,
  type TaskLine,
  type TaskProgress,
  type TaskRow,
  type TaskSearch,
  type Usage,
  waitedMs,
} from "./rows.ts";

/** A row in parts, as they are written; it is put together where one is asked for. */
export interface RowParts {
  readonly task: SubmittedTask;
  readonly progress: TaskProgress;
  readonly usage: Usage | undefined;
}

export function isAsked<T>(asked: T | undefined, found: T): boolean {
  return asked === undefined || asked === found;
}

export function matches({ task, progress }: RowParts, filter: TaskFilter): boolean {
  const { zone, agent, statuses, executor, type, runId } = filter;
  return (
    task.zone === zone &&
    isAsked(agent, task.agent) &&
    (statuses === undefined || statuses.includes(progress.status)) &&
    isAsked(executor, task.executor) &&
    isAsked(type, task.type) &&
    isAsked(runId, task.run?.id)
  );
}

export function rowOf({ task, progress, usage }: RowParts): TaskRow {
  const row = { ...task, ...progress };
  return usage ? { ...row, used: usage.used, recharged: usage.recharged } : row;
}

export function fits(
  { task, progress }: RowParts,
  { priorityClass, waitedMs: asked, now }: TaskSearch,
): boolean {
  const { enqueuedAt, runAt } = task;
  const { startedAt, endedAt } = progress;
  const waited = waitedMs({ enqueuedAt, runAt, startedAt, endedAt }, now);
  return (
    isAsked(priorityClass, task.priorityClass) &&
    waited >= (asked?.min ?? Number.NEGATIVE_INFINITY) &&
    waited <= (asked?.max ?? Number.POSITIVE_INFINITY)
  );
}

export function lineOf(parts: RowParts): TaskLine {
  const { payload, result, settings, used, recharged, ...line } = rowOf(parts);
  return line;
}
