import type { FastifyReply } from "fastify";
import { invariant } from "../../core/index.ts";
import { budgetOnWire, partOnWire, waitsWhenExhausted } from "../../graph/index.ts";
import type { CandidateRow } from "../../placement/index.ts";
import type {
  Candidate,
  RunAnswer,
  RunLine,
  RunPlanAnswer,
  RunSummary,
  TaskAnswer,
  TaskSummary,
  WhyAnswer,
} from "../../protocol/api-schemas.ts";
import { CLASS_NAMES, REQUEST_STATES, TIER_NAMES } from "../../queue/index.ts";
import type { RunRow } from "../../store/index.ts";
import type {
  BudgetView,
  Explanation,
  Recalled,
  RunLineView,
  RunPlanView,
  RunView,
  SpeculationView,
  TaskLineView,
  TaskView,
} from "../api.ts";
import { handleIn } from "../held-result.ts";
import { microsText } from "./amounts.ts";
import { changeAnswer } from "./change-answers.ts";
import { instantOrNull, instantText } from "./instants.ts";

/** What the service knows, in the words of the wire. */

const JSON_TYPE = "application/json; charset=utf-8";

/** Sends a task as JSON. Its payload and its result are JSON texts already, and are sent as they are. */
export function sendTask(reply: FastifyReply, task: TaskView): FastifyReply {
  const { payload, result = "null", progress, speculation, budget } = task;
  const shown = progress && { fraction: progress.fraction ?? null, message: progress.message ?? null };
  const summary = JSON.stringify(taskSummary(task)).slice(0, -1);
  const held = handleIn(result);
  const results = `"result":${held ? "null" : result},"held_result":${JSON.stringify(held ?? null)}`;
  const rest = `"payload":${payload},${results},"progress":${JSON.stringify(shown ?? null)}`;
  const tried = JSON.stringify(speculation ? speculationAnswer(speculation) : null);
  const consumed = JSON.stringify(budget ? budgetAnswer(budget) : null);
  return reply.type(JSON_TYPE).send(`${summary},${rest},"speculation":${tried},"budget":${consumed}}`);
}

function speculationAnswer({
  because,
  alternatives,
  outcome,
}: SpeculationView): NonNullable<TaskAnswer["speculation"]> {
  return {
    because,
    alternatives: alternatives.map(({ id, tag, isOpen, points }) => ({
      task_id: id,
      tag,
      open: isOpen,
      score: points ? scoreOf(points) : null,
    })),
    winner: alternatives[outcome?.winner ?? -1]?.tag ?? null,
    decided_by: outcome?.by ?? null,
  };
}

function budgetAnswer({ given, recharged, exhausted, used }: BudgetView): NonNullable<TaskAnswer["budget"]> {
  return {
    given: budgetOnWire(given),
    on_exhausted: waitsWhenExhausted(given) ? "wait" : "fail",
    recharged: budgetOnWire(recharged),
    exhausted: exhausted === undefined ? null : partOnWire(exhausted),
    used: used ? budgetOnWire(used) : null,
  };
}

function scoreOf(points: readonly number[]) {
  const [verification = 0, confidence = 0, size = 0, risk = 0, speed = 0] = points;
  const total = points.reduce((sum, part) => sum + part, 0);
  return { verification, confidence, size, risk, speed, total };
}

export function taskSummary(task: TaskLineView): TaskSummary {
  const tier = TIER_NAMES[task.priority];
  const priorityClass = CLASS_NAMES[task.priorityClass];
  const state = REQUEST_STATES.find((known) => known === task.requestState);
  invariant(tier && priorityClass && state, "a task's priority, class and state have names");
  return {
    id: task.id,
    status: task.status,
    priority_tier: tier,
    priority_class: priorityClass,
    effective_tier: task.effectiveTier,
    request_state: state,
    executor_id: task.executor,
    agent_id: task.agent,
    zone: task.zone,
    task_type: task.type,
    enqueued_at: instantText(task.enqueuedAt),
    started_at: instantOrNull(task.startedAt),
    completed_at: instantOrNull(task.endedAt),
    deadline: instantOrNull(task.deadline),
    run_at: instantOrNull(task.runAt),
    estimated_service_time: task.estimateMs / 1000,
    boost_amount: microsText(task.boostMicros),
    cost: microsText(task.costMicros),
    attempt: task.attempt,
    worker_id: textOrNull(task.worker),
    error_code: textOrNull(task.errorCode),
    error_message: textOrNull(task.errorMessage),
    run_id: task.run?.id ?? null,
    node: task.run?.node ?? null,
  };
}

export function runSummary(run: RunRow): RunSummary {
  return {
    id: run.id,
    name: run.name,
    zone: run.zone,
    agent_id: run.agent,
    status: run.outcome === "" ? "running" : run.outcome,
    nodes: run.nodes,
    submitted_at: instantText(run.submittedAt),
    completed_at: instantOrNull(run.endedAt),
  };
}

export function runLine(run: RunLineView): RunLine {
  return { ...runSummary(run), counts: run.counts ? { ...run.counts } : null };
}

export function runAnswer(run: RunView): RunAnswer {
  const { data } = run;
  return {
    ...runSummary(run),
    counts: { ...run.counts },
    data: data ? { held_bytes: data.held, moved_bytes: data.moved, freed_bytes: data.freed } : null,
    stuck: run.stuck.map((one) => ({ ...one })),
  };
}

const plansAsSent = new WeakMap<RunPlanView, Buffer>();

/** Sends a plan as JSON. Megabytes for a large run, so that those who share a plan share its bytes, too. */
export function sendRunPlan(reply: FastifyReply, plan: RunPlanView): FastifyReply {
  const bytes = plansAsSent.get(plan) ?? Buffer.from(JSON.stringify(runPlanAnswer(plan)));
  plansAsSent.set(plan, bytes);
  return reply.type(JSON_TYPE).send(bytes);
}

function runPlanAnswer({ run, now, rows, forecast }: RunPlanView): RunPlanAnswer {
  return {
    run_id: run.id,
    status: runSummary(run).status,
    planned_at: instantText(now),
    expected_end: instantOrNull(forecast?.end ?? -1),
    earliest_end: instantOrNull(forecast?.earliestEnd ?? -1),
    nodes: rows.map((row) => {
      const node = row.run?.node ?? "";
      const expected = forecast?.nodes.get(node);
      const startedAt = forecast?.startedAt.get(node);
      const isOpen = row.status === "queued" && startedAt === undefined;
      return {
        node,
        task_id: row.id,
        status: startedAt === undefined ? row.status : "running",
        started_at: instantOrNull(startedAt ?? row.startedAt),
        ended_at: instantOrNull(row.endedAt),
        expected_start: instantOrNull((isOpen ? expected?.start : undefined) ?? -1),
        expected_end: instantOrNull(expected?.end ?? -1),
        critical: expected?.isCritical ?? false,
        skipped: forecast?.skipped.get(node) ?? null,
        alternatives: [...(forecast?.alternatives.get(node) ?? [])],
      };
    }),
  };
}

/** "", which stands for none, is null on the wire. */
function textOrNull(text: string): string | null {
  return text === "" ? null : text;
}

export function whyAnswer({ id, status, waiting, placed, inputs, outlook }: Explanation): WhyAnswer {
  const { ahead = [], forecast, candidates = [], chain = [], sooner = [] } = outlook ?? {};
  return {
    id,
    status,
    waiting: waiting.map((reason) => ({ ...reason })),
    placed: placed
      ? {
          worker_id: placed.worker,
          attempt: placed.attempt,
          reason: { ...placed.reason },
          runner_up: placed.runnerUp ?? null,
          rejected: { ...placed.rejected },
          ...(placed.recalled && { recalled: recalledAnswer(placed.recalled) }),
          text: placed.text,
        }
      : null,
    inputs: inputs?.map((input) => ({ ...input, workers: [...input.workers] })) ?? null,
    ahead: ahead.map((task) => ({ task_id: task.id, node: task.node ?? null })),
    forecast: forecast
      ? { starts_in: forecast.startsInMs / 1000, tasks_ahead: forecast.ahead, slots: forecast.slots }
      : null,
    chain: chain.map(({ node, status }) => ({ node, status })),
    sooner: sooner.map(({ change, text, startsInMs }) => {
      return { change: changeAnswer(change), text, starts_in: startsInMs / 1000 };
    }),
    candidates: candidates.map(candidateAnswer),
  };
}

export function candidateAnswer(row: CandidateRow): Candidate {
  return {
    worker_id: row.worker,
    rank: row.rank ?? null,
    rejection: row.rejection ?? null,
    held: row.queueDepth,
    free_cpu: row.freeCpu / 1000,
    free_memory: row.freeMemory,
    executed_before: row.executedBefore,
    score: row.score,
  };
}

function recalledAnswer({ worker, idle, attempt, waitMicros, queueMicros, moveMicros }: Recalled) {
  const micros = { wait_micros: waitMicros, queue_micros: queueMicros, move_micros: moveMicros };
  return { worker_id: worker, idle_worker_id: idle, attempt, ...micros };
}
