import { sha256Hex } from "../core/index.ts";
import type { Attachment } from "../driver/index.ts";
import { type TaskSpec, type WireSpec, wireGraph, wireSpec } from "../graph/index.ts";
import type { AgentConfigured, RunSubmitted, TaskSubmitted } from "../ledger/index.ts";
import { newId, type TaskRow } from "../store/index.ts";
import type { AgentLimit, Caller, RunSubmission, TaskSubmission } from "./api.ts";
import { withType } from "./task-types.ts";
import { withTrace } from "./traces.ts";

function typed(task: TaskSpec): TaskSpec {
  return { ...task, capabilities: withType(task.capabilities, task.type) };
}

/** A graph, as it is submitted. */
export function runStimulus(
  { zone, agent }: Pick<Caller, "zone" | "agent">,
  runId: string,
  { graph, failFast, trace }: Pick<RunSubmission, "graph" | "failFast" | "trace">,
): { readonly stimulus: RunSubmitted; readonly attached: Attachment } {
  const specs = graph.nodes.map(({ spec }) => spec);
  const attached: Attachment = {
    type: "run",
    payloads: graph.nodes.map(({ payload }) => payload),
    // What a row of a node keeps of what was asked.
    settings: specs.map(({ needs, task: { budget } }) =>
      JSON.stringify({ needs, budget: budget.length > 0 ? budget : undefined, ...trace }),
    ),
  };
  const stimulus: RunSubmitted = {
    kind: "RunSubmitted",
    runId,
    name: graph.name,
    agent,
    zone,
    onFailure: failFast ? "cancel" : "continue",
    graph: wireGraph(specs, typed),
  };
  return { stimulus, attached };
}

export type TaskAttachment = Extract<Attachment, { readonly type: "task" }>;

export function stimulusOf(
  { zone, agent }: Pick<Caller, "zone" | "agent">,
  submission: TaskSubmission,
  id: string = newId(),
): { readonly stimulus: TaskSubmitted; readonly attached: TaskAttachment } {
  const { payload, requestState, boostMicros, deadline, runAt, idempotencyKey, bodyHash } = submission;
  if (!isWhole(boostMicros, 0) || !isWhole(deadline, -1) || !isWhole(runAt, -1)) refuseUnfit(submission);
  const { spec, settings: shared } = sharedTerms(submission);
  const settings = withTrace(shared, submission.trace);
  const stimulus: TaskSubmitted = {
    kind: "TaskSubmitted",
    id,
    agent,
    zone,
    spec,
    requestState,
    boostMicros,
    deadline,
    runAt,
    requestHash: sha256Hex(payload),
    attempts: 0,
  };
  const key =
    idempotencyKey === undefined ? undefined : { zone, agent, key: idempotencyKey, taskId: id, bodyHash };
  return { stimulus, attached: { type: "task", payload, settings, key, submitted: undefined } };
}

/** What many submissions have in common, so that it is written out once. */
interface Terms {
  readonly task: TaskSpec;
  readonly spec: WireSpec;
  readonly settings: string;
}

const MAX_TERMS = 10_000;
/** Longer ones, with many names, are hardly said again, and would take more memory than they save time. */
const MAX_TERMS_KEY = 1_000;
const TERMS = new Map<string, Terms>();
/** The last few that name nothing: most submissions say the same again, and to see that takes less than to make a key. */
const LATEST: Terms[] = [];
const MAX_LATEST = 8;

function sharedTerms(submission: TaskSubmission): Terms {
  if (namesSomething(submission)) return termsByKey(submission);
  for (const terms of LATEST) if (isAsked(terms.task, submission)) return terms;
  const terms = termsByKey(submission);
  if (LATEST.length === MAX_LATEST) LATEST.shift();
  LATEST.push(terms);
  return terms;
}

function namesSomething({ capabilities, limits, amounts, budget }: TaskSubmission): boolean {
  return capabilities.length + limits.length + amounts.length + budget.length > 0;
}

/** Of tasks that name nothing. */
function isAsked(task: TaskSpec, submission: TaskSubmission): boolean {
  return (
    task.estimateMs === submission.estimateMs &&
    task.priority === submission.priority &&
    task.type === submission.type &&
    task.executor === submission.executor &&
    task.cpuMillicores === submission.cpuMillicores &&
    task.memoryBytes === submission.memoryBytes &&
    task.maxAttempts === submission.maxAttempts &&
    task.backoffMs === submission.backoffMs &&
    task.timeoutMs === submission.timeoutMs
  );
}

function termsByKey(submission: TaskSubmission): Terms {
  const key = termsKey(submission);
  const known = TERMS.get(key);
  if (known) return known;
  refuseUnfit(submission);
  const task = specOf(submission);
  const terms = { task, spec: wireSpec(task), settings: JSON.stringify(settingsOf(submission)) };
  if (key.length > MAX_TERMS_KEY) return terms;
  if (TERMS.size >= MAX_TERMS) TERMS.clear();
  TERMS.set(key, terms);
  return terms;
}

/** The numbers of a submission, with the least value of each. */
const NUMBERS = {
  priority: 0,
  estimateMs: 1,
  cpuMillicores: 0,
  memoryBytes: 0,
  maxAttempts: 1,
  backoffMs: 0,
  timeoutMs: 0,
  boostMicros: 0,
  deadline: -1,
  runAt: -1,
} as const;
const LEAST_URGENT = 4;

/**
 * The routes and `open` have validated what they submit; programs that use `api` directly may not have. Terms are looked at
 * only when they are new, so this costs nothing for most submissions.
 */
function refuseUnfit(submission: TaskSubmission): void {
  for (const [name, least] of Object.entries(NUMBERS) as [keyof typeof NUMBERS, number][]) {
    const value = submission[name];
    if (!isWhole(value, least))
      throw new TypeError(`${name} must be a whole number of at least ${least}; got ${String(value)}`);
  }
  if (submission.priority > LEAST_URGENT)
    throw new TypeError(`priority must be at most ${LEAST_URGENT}; got ${submission.priority}`);
}

function isWhole(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}

function termsKey(submission: TaskSubmission): string {
  const { type, executor, cpuMillicores, memoryBytes, estimateMs, priority } = submission;
  const { maxAttempts, backoffMs, timeoutMs, capabilities, limits, amounts, budget } = submission;
  const names = namesSomething(submission) ? JSON.stringify([capabilities, limits, amounts, budget]) : "";
  // The numbers come first, and the lengths say where each name ends: no two submissions share a key by accident.
  return `${cpuMillicores},${memoryBytes},${estimateMs},${priority},${maxAttempts},${backoffMs},${timeoutMs},${type.length},${executor.length},${type}${executor}${names}`;
}

function specOf(submission: TaskSubmission): TaskSpec {
  const { type, executor, cpuMillicores, memoryBytes, estimateMs, priority } = submission;
  const { maxAttempts, backoffMs, timeoutMs, capabilities, limits, amounts, budget } = submission;
  return {
    type,
    executor,
    cpuMillicores,
    memoryBytes,
    estimateMs,
    priority,
    capabilities: withType(capabilities, type),
    maxAttempts,
    backoffMs,
    timeoutMs,
    held: false,
    limits,
    amounts,
    budget,
    ...NEVER_SPECULATED,
  };
}

/** What a row keeps so that the task can be put back into the queue. */
function settingsOf(submission: TaskSubmission) {
  const { cpuMillicores, memoryBytes, capabilities, limits, maxAttempts, backoffMs, timeoutMs } = submission;
  const amounts = submission.amounts.length > 0 ? { amounts: submission.amounts } : undefined;
  const budget = submission.budget.length > 0 ? { budget: submission.budget } : undefined;
  const names = { capabilities, limits, ...amounts, ...budget };
  return { cpuMillicores, memoryBytes, ...names, maxAttempts, backoffMs, timeoutMs };
}

/** A task of no run is on no path that it could be critical for. */
const NEVER_SPECULATED = { risk: "medium", speculate: false } as const;

export function requeueOf(task: TaskRow): TaskSubmitted {
  const settings = JSON.parse(task.settings) as ReturnType<typeof settingsOf>;
  const { id, agent, zone, type, executor, estimateMs, boostMicros, payloadHash, attempt } = task;
  return {
    kind: "TaskSubmitted",
    id,
    agent,
    zone,
    spec: wireSpec({
      type,
      executor,
      estimateMs,
      priority: task.priority as TaskSubmission["priority"],
      held: false,
      amounts: [],
      budget: [],
      ...NEVER_SPECULATED,
      ...settings,
      capabilities: withType(settings.capabilities, type),
    }),
    requestState: task.requestState as TaskSubmission["requestState"],
    boostMicros,
    // The one that it had may have passed, and would end it again at once.
    deadline: -1,
    runAt: -1,
    requestHash: payloadHash,
    attempts: attempt,
    requeued: true,
  };
}

/** Behind a share that is left out nothing can follow, so where a rate does, -1 stands for it. */
export function agentConfigured(
  zone: string,
  agent: string,
  { maxConcurrent: max, rate }: AgentLimit,
): AgentConfigured {
  const event = { kind: "AgentConfigured", zone, agent } as const;
  if (rate === undefined) return { ...event, ...(max !== undefined && { max }) };
  const period = rate && { ratePeriodMs: rate.periodMs };
  return { ...event, max: max === undefined ? -1 : max, rateCount: rate?.count ?? null, ...period };
}
