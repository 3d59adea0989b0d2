import type { EventData, TaskAnswer } from "../../../../src/protocol/api-schemas.ts";

export interface Segment {
  readonly kind: "waiting" | "dispatching" | "running";
  readonly from: number;
  /** Undefined: it goes on. */
  readonly to: number | undefined;
  /** 0: before the first. */
  readonly attempt: number;
  readonly worker: string | undefined;
  /** How the attempt ended. */
  readonly outcome: string | undefined;
}

const ENDS: Readonly<Record<string, string>> = {
  AttemptFinished: "finished",
  AttemptFailed: "failed",
  AttemptTimedOut: "timed out",
  AttemptLost: "lost with its worker",
  AttemptCancelled: "cancelled",
};
const LAST = ["TaskCancelled", "TaskFailed", "TaskCompleted", "TaskSkipped"];

type Open = { -readonly [Key in keyof Segment]: Segment[Key] };

/** A task's time, split into what it was spent on: by what happened to it, or by its row where that is forgotten. */
export function segmentsOf(task: TaskAnswer, events: readonly EventData[]): Segment[] {
  const isWhole = events[0]?.kind === "TaskSubmitted" || events.some(({ kind }) => kind === "TaskAssigned");
  return isWhole ? fromEvents(task, events) : fromRow(task);
}

function fromEvents(task: TaskAnswer, events: readonly EventData[]): Segment[] {
  const segments: Segment[] = [];
  let open: Open | undefined = segment("waiting", Date.parse(task.enqueued_at), 0);
  const next = (at: number, after: Open | undefined, outcome?: string) => {
    // A short attempt is reported with its end alone.
    const kind = outcome === undefined ? open?.kind : "running";
    if (open && kind) segments.push({ ...open, kind, to: at, outcome });
    open = after;
  };
  for (const { kind, at: text, data } of events) {
    const at = Date.parse(text);
    const attempt = Number(data["attempt"] ?? open?.attempt ?? 0);
    if (kind === "TaskSubmitted" && segments.length > 0) next(at, segment("waiting", at, attempt));
    else if (kind === "TaskAssigned")
      next(at, segment("dispatching", at, attempt, String(data["worker"] ?? "")));
    else if (kind === "AttemptStarted")
      next(startOf(data, at), segment("running", startOf(data, at), attempt, open?.worker));
    else if (ENDS[kind] !== undefined) next(at, segment("waiting", at, attempt), ENDS[kind]);
    else if (LAST.includes(kind)) next(at, undefined);
  }
  const isOver = task.completed_at !== null;
  if (open && !isOver) segments.push(open);
  // What ended without a word about it ended when its row says so.
  return segments.filter(({ from, to }) => to === undefined || to > from || segments.length === 1);
}

function startOf(data: EventData["data"], at: number): number {
  const started = data["started_at"];
  return typeof started === "number" ? Math.min(started, at) : at;
}

function fromRow({
  enqueued_at,
  started_at,
  completed_at,
  attempt,
  worker_id,
  status,
}: TaskAnswer): Segment[] {
  const ended = completed_at === null ? undefined : Date.parse(completed_at);
  const started = started_at === null ? undefined : Date.parse(started_at);
  const waiting = { ...segment("waiting", Date.parse(enqueued_at), 0), to: started ?? ended };
  if (started === undefined) return [waiting];
  const outcome = ended === undefined ? undefined : status === "completed" ? "finished" : status;
  return [waiting, { ...segment("running", started, attempt, worker_id ?? undefined), to: ended, outcome }];
}

function segment(kind: Segment["kind"], from: number, attempt: number, worker?: string): Open {
  return { kind, from, to: undefined, attempt, worker, outcome: undefined };
}
