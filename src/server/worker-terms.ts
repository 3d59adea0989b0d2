/** What workers and the scheduler say to each other, in the other's terms. */

import { canonicalJson, sha256Hex } from "../core/index.ts";
import type { Attachment } from "../driver/index.ts";
import {
  type BudgetOnWire,
  budgetOffWire,
  budgetOnWire,
  type Risk,
  type TaskSpec,
  waitsWhenExhausted,
} from "../graph/index.ts";
import type { Input, Report as ReportEvent, Transfer } from "../ledger/index.ts";
import type { Worker, WorkerSpec } from "../placement/index.ts";
import type { Assignment, ChunkHandle, GivenAssignment, Registration, Report } from "../protocol/index.ts";
import { type State, UNASSESSED_PERMILLE } from "../scheduler/index.ts";
import type { Caller } from "./api.ts";
import { transfersOf } from "./data-terms.ts";
import { heldResult } from "./held-result.ts";
import type { PlacedTask } from "./placed-tasks.ts";
import { apart, withTypes } from "./task-types.ts";

interface OfAttempt {
  readonly run: number;
  readonly node: number;
  readonly attempt: number;
  readonly startedAt: number;
  readonly taskId: string;
  /** The number of the worker that reports. */
  readonly reporter: number;
}

interface ReportStimulus {
  readonly stimulus: ReportEvent & Pick<OfAttempt, "taskId" | "reporter">;
  readonly attached?: Attachment;
}

export function reportStimulus(
  state: State,
  task: PlacedTask,
  report: Report,
  reporter: number,
  now: number,
  maxResultBytes: number,
): ReportStimulus {
  const { id: taskId, run, node, spec, inputs } = task;
  const startedAt = Math.min(state.ledgerTime(report.started_at), now);
  const of = { run, node, attempt: report.attempt, startedAt, taskId, reporter };
  if (report.type === "returned") return { stimulus: { kind: "AttemptLost", ...of } };
  const costMicros = report.cost === undefined ? 0 : Math.round(report.cost * 1e6);
  switch (report.type) {
    case "finished": {
      if (isPlain(report) && costMicros === 0)
        return finishedStimulus(of, report.result, 0, maxResultBytes, inputs && report.took_us);
      const finished = metered(
        assessed(
          inputs && report.chunk && report.result === undefined
            ? heldStimulus(of, report.chunk, costMicros)
            : finishedStimulus(of, report.result, costMicros, maxResultBytes),
          report,
          spec.risk,
        ),
        report,
      );
      return inputs ? ofData(finished, report, transfersOf(state, task, report)) : finished;
    }
    case "failed": {
      const { code, message, retry = true } = report;
      return metered(
        { stimulus: { kind: "AttemptFailed", ...of, code, message, costMicros, retry } },
        report,
      );
    }
    case "timed_out":
      return { stimulus: { kind: "AttemptTimedOut", ...of } };
    case "cancelled":
      return { stimulus: { kind: "AttemptCancelled", ...of } };
  }
}

/** It says nothing but the result, and how long it took. */
function isPlain({ chunk, moved, assessment, used }: Extract<Report, { type: "finished" }>): boolean {
  return chunk === undefined && !moved && assessment === undefined && used === undefined;
}

function assessed(
  { stimulus, attached }: ReportStimulus,
  { assessment }: Extract<Report, { type: "finished" }>,
  riskAsked: Risk,
): ReportStimulus {
  if (!assessment || stimulus.kind !== "AttemptFinished") return { stimulus, ...(attached && { attached }) };
  const {
    verified = true,
    confidence = UNASSESSED_PERMILLE / 1000,
    lines = 0,
    risk = riskAsked,
  } = assessment;
  const confidencePermille = Math.round(confidence * 1000);
  return {
    stimulus: { costMicros: 0, ...stimulus, assessment: { verified, confidencePermille, lines, risk } },
    ...(attached && { attached }),
  };
}

/** What was brought for it, and how long it ran. */
function ofData(
  given: ReportStimulus,
  { moved, took_us: took }: Extract<Report, { type: "finished" }>,
  transfers: readonly Transfer[],
): ReportStimulus {
  const { stimulus } = given;
  if ((!moved && took === undefined) || stimulus.kind !== "AttemptFinished") return given;
  const ran = took === undefined ? stimulus : { ...stimulus, tookMicros: took };
  if (!moved) return { ...given, stimulus: ran };
  return { ...given, stimulus: { ...ran, movedBytes: moved, ...(transfers.length > 0 && { transfers }) } };
}

/** What it consumed. */
function metered(given: ReportStimulus, { used }: { used?: Partial<BudgetOnWire> }): ReportStimulus {
  const { stimulus } = given;
  if (!used || (stimulus.kind !== "AttemptFinished" && stimulus.kind !== "AttemptFailed")) return given;
  return { ...given, stimulus: { costMicros: 0, ...stimulus, used: budgetOffWire(used) } };
}

const NO_RESULT = "null";
const NO_RESULT_HASH = sha256Hex(NO_RESULT);
const NOTHING: Attachment = { type: "result", result: NO_RESULT };

function finishedStimulus(
  of: OfAttempt,
  value: unknown,
  costMicros: number,
  maxResultBytes: number,
  tookMicros?: number,
): ReportStimulus {
  const hasNone = value === undefined || value === null;
  if (hasNone && costMicros === 0) {
    const { run, node, attempt, startedAt, taskId, reporter } = of;
    const stimulus = {
      kind: "AttemptFinished" as const,
      run,
      node,
      attempt,
      startedAt,
      taskId,
      reporter,
      resultHash: NO_RESULT_HASH,
      resultBytes: NO_RESULT.length,
      tookMicros,
    };
    return { stimulus, attached: NOTHING };
  }
  const result = hasNone ? NO_RESULT : JSON.stringify(value);
  const resultBytes = Buffer.byteLength(result);
  if (resultBytes > maxResultBytes) {
    const message = `the result has ${resultBytes} bytes and the limit is ${maxResultBytes}`;
    const code = "result-too-large";
    return { stimulus: { kind: "AttemptFailed", ...of, code, message, costMicros, retry: false } };
  }
  const cost = costMicros > 0 ? { costMicros } : {};
  const took = tookMicros === undefined ? {} : { tookMicros };
  const resultHash = sha256Hex(result);
  return {
    stimulus: { kind: "AttemptFinished", ...of, resultHash, resultBytes, ...cost, ...took },
    attached: { type: "result", result },
  };
}

/** A result that stays on its worker. */
function heldStimulus(of: OfAttempt, chunk: ChunkHandle, costMicros: number): ReportStimulus {
  const { sha256: resultHash, bytes: resultBytes } = chunk;
  return {
    stimulus: { kind: "AttemptFinished", ...of, resultHash, resultBytes, costMicros, held: true },
    attached: { type: "result", result: heldResult(chunk) },
  };
}

export function awayOrBack(worker: number, away: boolean): Input {
  return { kind: "WorkerLoadReported", worker, loadPermille: 0, saysOverloaded: away };
}

/** The session is kept as the worker's endpoint: the same process is known by it after a restart of ours. */
export function specOf(registration: Registration, { zone, keyId }: Caller): WorkerSpec {
  return {
    id: registration.id,
    endpoint: registration.session,
    key: keyId,
    zone: registration.zone ?? zone,
    zones: [...(registration.zones ?? [])].sort(),
    executors: [...new Set(registration.executors)].sort(),
    capabilities: withTypes(registration.capabilities ?? [], registration.types),
    cpuMillicores: registration.cpu_millicores,
    memoryBytes: registration.memory_bytes,
    slots: registration.slots,
    ...(registration.gives_back && { givesBack: true }),
    ...(registration.io_slots !== undefined && { ioSlots: registration.io_slots }),
  };
}

/** The same process, with the same to offer, that was not given up in the meantime. */
export function sameWorker(state: State, spec: WorkerSpec): Worker | undefined {
  const worker = state.fleet.named(spec.zone, spec.id);
  if (!worker || worker.status === "Unreachable") return undefined;
  return canonicalJson({ key: spec.key, ...worker.spec }) === canonicalJson(spec) ? worker : undefined;
}

function budgetTerms({ budget, capabilities }: TaskSpec): Pick<Assignment, "budget" | "capabilities"> {
  const named = apart(capabilities).capabilities;
  return {
    ...(budget.length > 0 && {
      budget: {
        ...budgetOnWire(budget),
        on_exhausted: waitsWhenExhausted(budget) ? ("wait" as const) : ("fail" as const),
      },
    }),
    ...(named.length > 0 && { capabilities: [...named] }),
  };
}

/** An alternative has the payload of what it is an alternative of. */
export function payloadIdOf({ id, alternative }: PlacedTask): string {
  return alternative?.of ?? id;
}

/** With the text of its payload. */
export function givenAssignment(task: PlacedTask, payload: string): GivenAssignment {
  const { id, attempt, zone, agent, spec, runId, nodeId, alternative } = task;
  const assignment: GivenAssignment = {
    task: id,
    attempt,
    task_type: spec.type,
    executor: spec.executor,
    zone,
    agent,
    payload,
    timeout_ms: spec.timeoutMs,
  };
  // One is that of its type.
  if (spec.budget.length > 0 || spec.capabilities.length > 1) Object.assign(assignment, budgetTerms(spec));
  if (runId !== undefined && nodeId !== undefined) {
    assignment.run = runId;
    assignment.node = nodeId;
    if (alternative) assignment.alternative = alternative.tag;
  }
  return assignment;
}
