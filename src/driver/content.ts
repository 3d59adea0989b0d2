import type { AttemptFailed, AttemptFinished, Input, RunSubmitted, TaskSubmitted } from "../ledger/index.ts";
import type { State } from "../scheduler/index.ts";
import { NO_CHANGES, QUEUED, type RowChanges, type RunRow } from "../store/index.ts";
import type { Attachment } from "./attachment.ts";
import { errorOfAttempt } from "./task-errors.ts";
import { nodeRow, singleRow } from "./task-rows.ts";

/**
 * Returns the rows with what an input brings: texts of submissions, results, and error messages. They are nearly the rows that
 * the input leads to when it is decided, and a store that takes them takes those. Returns `undefined` if it brings nothing new.
 */
export function contentOf(
  state: State,
  input: Input,
  attached: Attachment | undefined,
  now: number,
): RowChanges | undefined {
  switch (input.kind) {
    case "TaskSubmitted":
      return contentOfTask(state, input, attached, now);
    case "RunSubmitted":
      return contentOfRun(state, input, attached, now);
    case "AttemptFinished":
    case "AttemptFailed":
      return contentOfReport(state, input, attached, now);
    default:
      return undefined;
  }
}

function contentOfTask(
  state: State,
  event: TaskSubmitted,
  attached: Attachment | undefined,
  now: number,
): RowChanges | undefined {
  // The scheduler refuses an id that it knows, and a task that is put back has its row already.
  if (event.requeued || state.singles.byId(event.id)) return undefined;
  const seq = state.seq + 1;
  const brought = attached?.type === "task" ? attached : undefined;
  const task = singleRow(state, event, now, seq, brought);
  return {
    ...NO_CHANGES,
    submitted: [{ task, progress: { ...QUEUED, seq } }],
    keys: brought?.key ? [brought.key] : [],
  };
}

function contentOfRun(
  state: State,
  event: RunSubmitted,
  attached: Attachment | undefined,
  now: number,
): RowChanges | undefined {
  if (state.runById(event.runId)) return undefined;
  const seq = state.seq + 1;
  const brought = attached?.type === "run" ? attached : undefined;
  const progress = { ...QUEUED, seq };
  return {
    ...NO_CHANGES,
    runs: [runRow(event, now, seq)],
    submitted: event.graph.ids.map((_, node) => ({
      task: nodeRow(event, node, now, seq, brought),
      progress,
    })),
  };
}

/** The row of a run as it is submitted. */
export function runRow(
  { runId: id, zone, agent, name, graph }: RunSubmitted,
  now: number,
  seq: number,
): RunRow {
  const nodes = graph.ids.length;
  return { id, zone, agent, name, nodes, submittedAt: now, submittedSeq: seq, outcome: "", endedAt: -1 };
}

function contentOfReport(
  state: State,
  event: AttemptFinished | AttemptFailed,
  attached: Attachment | undefined,
  now: number,
): RowChanges | undefined {
  const { run, node, attempt, startedAt } = event;
  const tasks = state.tasksAt(run);
  if (!tasks?.has(node)) return undefined;
  const ended = event.kind === "AttemptFinished" ? { resultHash: event.resultHash } : errorOfAttempt(event);
  const progress = {
    ...QUEUED,
    status: event.kind === "AttemptFinished" ? ("completed" as const) : ("failed" as const),
    attempt,
    startedAt,
    endedAt: now,
    result: attached?.type === "result" ? attached.result : undefined,
    seq: state.seq + 1,
    ...ended,
  };
  return { ...NO_CHANGES, progressed: [{ id: tasks.taskIdOf(node), progress }] };
}
