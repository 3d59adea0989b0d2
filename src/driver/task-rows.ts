import { alternativeIdOf } from "../core/index.ts";
import { speculationTag, type TaskSpec, taskSpecOf, type WireGraph, type WireSpec } from "../graph/index.ts";
import type { RunSubmitted, TaskSubmitted } from "../ledger/index.ts";
import { classify, startTier } from "../queue/index.ts";
import { type Run, type State, submittedTaskId } from "../scheduler/index.ts";
import type { SubmittedTask } from "../store/index.ts";
import type { Attachment } from "./attachment.ts";

/** The row of a task of its own, as it is submitted. */
export function singleRow(
  { config }: State,
  event: TaskSubmitted,
  now: number,
  seq: number,
  brought: Extract<Attachment, { type: "task" }> | undefined,
): SubmittedTask {
  const { id, zone, agent, requestState, boostMicros, deadline, runAt, requestHash } = event;
  const spec = taskSpecOf(event.spec);
  const tier = startTier(spec.priority, boostMicros, config);
  return {
    id,
    run: undefined,
    zone,
    agent,
    executor: spec.executor,
    type: spec.type,
    priority: spec.priority,
    requestState,
    priorityClass: classify(tier, requestState),
    boostMicros,
    estimateMs: spec.estimateMs,
    deadline,
    runAt,
    settings: brought?.settings ?? "{}",
    payload: brought?.payload ?? "",
    payloadHash: requestHash,
    enqueuedAt: now,
    submittedSeq: seq,
  };
}

/** The row of a node of a run, as that is submitted. */
export function nodeRow(
  event: RunSubmitted,
  node: number,
  now: number,
  seq: number,
  brought: Extract<Attachment, { type: "run" }> | undefined,
): SubmittedTask {
  const { runId, graph } = event;
  return rowOfRun(event, taskSpecOf(specOf(graph, node)), {
    id: submittedTaskId(event, node),
    run: { id: runId, node: graph.ids[node] as string },
    settings: brought?.settings[node] ?? "{}",
    payload: brought?.payloads[node] ?? "",
    payloadHash: graph.requests[node] ?? "",
    enqueuedAt: now,
    submittedSeq: seq,
  });
}

/** The row of an alternative of a node: as that node's, but for what it is called and when it came. */
export function alternativeRow(run: Run, node: number, at: number, now: number, seq: number): SubmittedTask {
  const tag = speculationTag(at);
  return rowOfRun(run, run.taskOf(node), {
    id: alternativeIdOf(run.taskIdOf(node), tag),
    run: { id: run.id, node: `${run.graph.idOf(node)} ${tag}` },
    settings: "{}",
    payload: "",
    payloadHash: run.requestHashOf(node),
    enqueuedAt: now,
    submittedSeq: seq,
  });
}

type OfNode = "id" | "run" | "settings" | "payload" | "payloadHash" | "enqueuedAt" | "submittedSeq";

/** Written out, not spread: a run may have many. */
function rowOfRun(
  { zone, agent }: { readonly zone: string; readonly agent: string },
  { executor, type, priority, estimateMs }: TaskSpec,
  { id, run, settings, payload, payloadHash, enqueuedAt, submittedSeq }: Pick<SubmittedTask, OfNode>,
): SubmittedTask {
  return {
    id,
    run,
    zone,
    agent,
    executor,
    type,
    priority,
    requestState: "pending",
    priorityClass: classify(priority, "pending"),
    boostMicros: 0,
    estimateMs,
    deadline: -1,
    runAt: -1,
    settings,
    payload,
    payloadHash,
    enqueuedAt,
    submittedSeq,
  };
}

function specOf(graph: WireGraph, node: number): WireSpec {
  return graph.specs[graph.spec[node] as number] as WireSpec;
}
