/** What workers and the scheduler say to each other, in the other's terms. */

import { sha256Hex } from "../core/index.ts";
import type { Attachment } from "../driver/index.ts";
import type { Input, Report as ReportEvent } from "../ledger/index.ts";
import type { Worker, WorkerSpec } from "../placement/index.ts";
import type { Assignment, Registration, Report } from "../protocol/index.ts";
import type { State } from "../scheduler/index.ts";
import type { PlacedTask } from "./placed-tasks.ts";
import { withTypes } from "./task-types.ts";

interface ReportStimulus {
  readonly event: ReportEvent;
  readonly attached?: Attachment;
}

export function reportStimulus(
  { run, node }: PlacedTask,
  report: Report,
  now: number,
  maxResultBytes: number,
): ReportStimulus {
  const of = { run, node, attempt: report.attempt, startedAt: Math.min(report.started_at, now) };
  const costMicros = Math.round((report.cost ?? 0) * 1e6);
  switch (report.type) {
    case "finished":
      return finishedStimulus(of, report.result, costMicros, maxResultBytes);
    case "failed": {
      const { code, message, retry = true } = report;
      return { event: { kind: "AttemptFailed", ...of, code, message, costMicros, retry } };
    }
    case "timed_out":
      return { event: { kind: "AttemptTimedOut", ...of } };
    case "cancelled":
      return { event: { kind: "AttemptCancelled", ...of } };
  }
}

function finishedStimulus(
  of: { run: number; node: number; attempt: number; startedAt: number },
  value: unknown,
  costMicros: number,
  maxResultBytes: number,
): ReportStimulus {
  const result = value === undefined ? "null" : JSON.stringify(value);
  const resultBytes = Buffer.byteLength(result);
  if (resultBytes > maxResultBytes) {
    const message = `the result has ${resultBytes} bytes and the limit is ${maxResultBytes}`;
    const code = "result-too-large";
    return { event: { kind: "AttemptFailed", ...of, code, message, costMicros, retry: false } };
  }
  const cost = costMicros > 0 ? { costMicros } : {};
  const resultHash = sha256Hex(result);
  return {
    event: { kind: "AttemptFinished", ...of, resultHash, resultBytes, ...cost },
    attached: { type: "result", result },
  };
}

export function awayOrBack(worker: number, away: boolean): Input {
  return { kind: "WorkerLoadReported", worker, loadPermille: 0, saysOverloaded: away };
}

/** The session is kept as the worker's endpoint: the same process is known by it after a restart of ours. */
export function specOf(registration: Registration, zone: string): WorkerSpec {
  return {
    id: registration.id,
    endpoint: registration.session,
    zone: registration.zone ?? zone,
    zones: [...(registration.zones ?? [])].sort(),
    executors: [...new Set(registration.executors)].sort(),
    capabilities: withTypes(registration.capabilities ?? [], registration.types),
    cpuMillicores: registration.cpu_millicores,
    memoryBytes: registration.memory_bytes,
    slots: registration.slots,
  };
}

/** The same process, with the same to offer, that was not given up in the meantime. */
export function sameWorker(state: State, spec: WorkerSpec): Worker | undefined {
  const worker = state.fleet.byId(spec.id);
  if (!worker || worker.status === "Unreachable") return undefined;
  return JSON.stringify(worker.spec) === JSON.stringify(spec) ? worker : undefined;
}

export function assignmentOf(
  state: State,
  { id, run, node, attempt, zone }: PlacedTask,
  payload: string | undefined,
): Assignment {
  const tasks = state.tasks(run);
  const task = tasks.taskOf(node);
  const ofRun = state.runs.get(run);
  return {
    task: id,
    attempt,
    task_type: task.type,
    executor: task.executor,
    zone,
    agent: tasks.agentOf(node),
    payload: payload === undefined || payload === "" ? {} : JSON.parse(payload),
    timeout_ms: task.timeoutMs,
    ...(ofRun && { run: ofRun.id, node: ofRun.graph.idOf(node) }),
  };
}
