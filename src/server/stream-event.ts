import type { Fact } from "../driver/index.ts";
import { budgetOnWire, partOnWire, speculationTag } from "../graph/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import type { StreamEvent } from "./api.ts";
import type { StreamIds } from "./stream-ids.ts";

/** What names of numbers are told by: the state, or as much of one. */
export interface Names {
  timeOfDay(at: number): number;
  worker(number: number): { readonly id: string };
  readonly runs: {
    get(run: number): { readonly graph: { idOf(node: number): string } } | undefined;
  };
}

/** An event, and as much of whom it is about as is told. */
export interface Told extends Pick<Fact, "seq" | "now" | "event"> {
  readonly about:
    | {
        readonly runId: string | undefined;
        readonly task:
          | {
              readonly id: string;
              readonly node: string | undefined;
              readonly alternative?: { readonly tag: string } | undefined;
            }
          | undefined;
      }
    | undefined;
}

/** What those who may see an event are told of it. */
export function streamEvent(ids: StreamIds, state: Names, told: Told): StreamEvent {
  const { seq, now, event, about } = told;
  return {
    id: ids.idOf(seq),
    kind: event.kind,
    at: now,
    taskId: about?.task?.id,
    runId: about?.runId,
    data: { ...nodeOf(told), ...dataOf(state, event) },
  };
}

function nodeOf({ about }: Told): { readonly node?: string; readonly alternative?: string } {
  const { node, alternative } = about?.task ?? {};
  if (node === undefined) return {};
  return alternative ? { node, alternative: alternative.tag } : { node };
}

/** What of an event is for its task's owner: names in place of numbers, and nothing about other zones. */
function dataOf(state: Names, event: LedgerEvent): Readonly<Record<string, unknown>> {
  switch (event.kind) {
    case "TaskAssigned":
      return { attempt: event.attempt, worker: state.worker(event.worker).id, reason: event.reason };
    case "TaskRecalled": {
      const [worker, idle] = [state.worker(event.worker).id, state.worker(event.idle).id];
      return { attempt: event.attempt, worker, idle, wait_micros: event.waitMicros };
    }
    case "AttemptStarted":
      return { attempt: event.attempt, started_at: state.timeOfDay(event.startedAt) };
    case "AttemptFinished":
      return { attempt: event.attempt, result_bytes: event.resultBytes };
    case "AttemptFailed":
      return { attempt: event.attempt, code: event.code, message: event.message };
    case "AttemptTimedOut":
    case "AttemptLost":
    case "AttemptCancelled":
    case "CancelSignalled":
      return { attempt: event.attempt };
    case "ReportRefused":
      return {
        attempt: event.attempt,
        report: event.report,
        code: event.code,
        ...(event.worker !== undefined && { worker: state.worker(event.worker).id }),
      };
    case "TaskBudgetExhausted":
      return { attempt: event.attempt, part: partOnWire(event.part) };
    case "TaskRecharged":
      return { attempt: event.attempt, amounts: budgetOnWire(event.amounts) };
    case "TaskSpeculated":
      return { alternatives: event.count, because: event.because };
    case "VoteTaken":
      return {
        winner: event.winner === -1 ? null : speculationTag(event.winner),
        decided_by: event.by,
        scores: event.scores,
      };
    case "TaskRetried":
      return { due_at: state.timeOfDay(event.dueAt) };
    case "TaskFailed":
      return { code: event.code };
    case "TasksSkipped":
      return { nodes: event.nodes.map((node) => state.runs.get(event.run)?.graph.idOf(node)) };
    case "RunSubmitted":
      return { name: event.name, nodes: event.graph.ids.length };
    case "RunEnded":
      return { outcome: event.outcome };
    default:
      return {};
  }
}
