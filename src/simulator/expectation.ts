import type { Answer } from "../driver/index.ts";
import type {
  LedgerEvent,
  Report,
  RunSubmitted,
  SubmissionsRefused,
  TaskSubmitted,
} from "../ledger/index.ts";
import type { Stimulus } from "../scheduler/index.ts";
import { isChargeNews } from "./charges.ts";
import { isOverloaded } from "./facts.ts";
import { type Model, ofZone } from "./model.ts";
import { maxOf, reservedOf, runningOf } from "./model-admission.ts";
import { mayGrow } from "./model-growth.ts";
import { maySubmit } from "./model-rates.ts";
import { isEnded } from "./model-tasks.ts";
import { isCurrent } from "./task-facts.ts";
import { tiersBought } from "./tiers.ts";
import { demand } from "./violation.ts";

/** What must become of a stimulus, in the model as it stands. */
export type Expectation =
  | { readonly type: "recorded"; readonly event: LedgerEvent }
  /** Answered, and no event. */
  | { readonly type: "ignored"; readonly accepted: boolean }
  | {
      readonly type: "refused submission";
      readonly agent: string;
      readonly code: SubmissionsRefused["code"];
    };

export function expectationOf(model: Model, stimulus: Stimulus, now: number): Expectation {
  const recorded: Expectation = { type: "recorded", event: stimulus };
  const refused: Expectation = { type: "ignored", accepted: false };
  switch (stimulus.kind) {
    case "RunSubmitted":
      return expectRun(model, stimulus, now);
    case "TaskSubmitted":
      return expectTask(model, stimulus, now);
    case "WorkerLost": {
      const worker = model.workers[stimulus.worker];
      return worker && worker.standing !== "unreachable" ? recorded : refused;
    }
    case "DrainRequested":
    case "WorkerLoadReported": {
      const worker = model.workers[stimulus.worker];
      if (!worker || worker.standing === "unreachable" || worker.standing === "draining") return refused;
      if (stimulus.kind === "DrainRequested") return recorded;
      const changes = isOverloaded(model, worker, stimulus) !== (worker.standing === "overloaded");
      return changes ? recorded : { type: "ignored", accepted: true };
    }
    case "AttemptStarted":
    case "AttemptFinished":
    case "AttemptFailed":
    case "AttemptTimedOut":
    case "AttemptLost":
    case "AttemptCancelled":
      return expectReport(model, stimulus);
    case "ChunkLost": {
      const worker = model.workers[stimulus.worker];
      const holders = model.find(stimulus)?.holders ?? [];
      return worker && holders.includes(worker) ? recorded : refused;
    }
    case "RunReleased": {
      const run = model.runs.get(stimulus.run);
      return run?.hasData && !run.isReleased ? recorded : refused;
    }
    case "TaskBudgetExhausted":
    case "TaskRecharged":
      return isChargeNews(model, stimulus) ? recorded : refused;
    case "CancelRequested": {
      if (stimulus.node === -1) {
        const run = model.runs.get(stimulus.run);
        return run && run.outcome === undefined && !run.cancelAsked ? recorded : refused;
      }
      const task = model.find(stimulus);
      return task && !isEnded(task) ? recorded : refused;
    }
    default:
      return recorded;
  }
}

const REFUSED: Expectation = { type: "ignored", accepted: false };

function expectRun(model: Model, stimulus: RunSubmitted, now: number): Expectation {
  const size = stimulus.graph.ids.length;
  if (model.runById(stimulus.runId) || size > model.settings.maxNodes) return REFUSED;
  const { parent } = stimulus;
  if (parent) return mayGrow(model, stimulus, parent) ? { type: "recorded", event: stimulus } : REFUSED;
  return refusalOf(model, stimulus, size, now) ?? { type: "recorded", event: stimulus };
}

function expectTask(model: Model, stimulus: TaskSubmitted, now: number): Expectation {
  if (model.singleById(stimulus.id)) return REFUSED;
  const refused = refusalOf(model, stimulus, 1, now);
  if (refused) return refused;
  const { zone, agent, boostMicros } = stimulus;
  const { credits, boostTierMicros } = model.settings;
  const price = credits ? tiersBought(boostMicros, model.settings) * boostTierMicros : 0;
  const owns = model.credits.get(ofZone(zone, agent)) ?? 0;
  if (price > 0 && price > owns - reservedOf(model, zone, agent)) {
    return { type: "refused submission", agent, code: "credits" };
  }
  return { type: "recorded", event: stimulus };
}

/** What stands against so many more tasks of an agent. */
function refusalOf(
  model: Model,
  { zone, agent }: { readonly zone: string; readonly agent: string },
  tasks: number,
  now: number,
): Expectation | undefined {
  const { backlogLimit, rejectThreshold, overLimit } = model.settings;
  const refused = (code: SubmissionsRefused["code"]): Expectation => ({
    type: "refused submission",
    agent,
    code,
  });
  if (model.backlog + tasks > backlogLimit) return refused("backlog");
  if (rejectThreshold !== null && model.usage >= rejectThreshold) return refused("backpressure");
  const max = maxOf(model, zone, agent);
  if (overLimit === "reject" && max !== null && runningOf(model, zone, agent) >= max)
    return refused("fair-share");
  if (!maySubmit(model, zone, agent, now)) return refused("rate-limit");
  return undefined;
}

function expectReport(model: Model, report: Report): Expectation {
  const { kind, run, node, attempt } = report;
  const task = model.find(report);
  const isEarly = kind === "AttemptFinished" && task?.isAhead;
  if (isCurrent(task, kind, attempt)) return isEarly ? REFUSED : { type: "recorded", event: report };
  const code = task ? "stale" : "unknown";
  return {
    type: "recorded",
    event: { kind: "ReportRefused", run, node, attempt, report: kind, code },
  };
}

/** What the answer to a stimulus must be. */
export type ExpectedReply =
  | { readonly type: "reply"; readonly accepted: boolean; readonly throttle: boolean }
  /** Of the same turn, or an earlier one. */
  | {
      readonly type: "repeats";
      readonly taskId: string;
      readonly first: { readonly expected: ExpectedReply | undefined } | undefined;
    };

/** Above half of the workers' room, submitters are asked to slow down. */
export function expectedReply(model: Model, expected: Expectation): ExpectedReply {
  const accepted =
    expected.type === "ignored"
      ? expected.accepted
      : expected.type === "recorded" && expected.event.kind !== "ReportRefused";
  return { type: "reply", accepted, throttle: model.usage > 0.5 };
}

export function checkAnswer(expected: ExpectedReply, answer: Answer): void {
  const said = () =>
    `a stimulus was answered ${JSON.stringify(answer)}, ${JSON.stringify(expected)} is right`;
  const taskId = answer.accepted && "repeats" in answer ? answer.repeats.taskId : undefined;
  if (expected.type === "repeats") {
    const { expected: ofFirst } = expected.first ?? {};
    const accepted = ofFirst?.type !== "reply" || ofFirst.accepted;
    demand(
      answer.accepted === accepted && taskId === (accepted ? expected.taskId : undefined),
      "one-task-for-a-key",
      said,
    );
    return;
  }
  demand(answer.accepted === expected.accepted && taskId === undefined, "reply", said);
  if (answer.accepted) demand(answer.throttle === expected.throttle, "throttle", said);
}
