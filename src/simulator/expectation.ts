import type { LedgerEvent, Report, SubmissionsRefused } from "../ledger/index.ts";
import type { Reply, Stimulus } from "../scheduler/index.ts";
import { isOverloaded } from "./facts.ts";
import { isEnded, type Model } from "./model.ts";
import { isCurrent } from "./task-facts.ts";
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

export function expectationOf(model: Model, stimulus: Stimulus): Expectation {
  const recorded: Expectation = { type: "recorded", event: stimulus };
  const refused: Expectation = { type: "ignored", accepted: false };
  switch (stimulus.kind) {
    case "RunSubmitted":
      return expectSubmission(model, stimulus);
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
    case "CancelRequested": {
      const run = model.runs.get(stimulus.run);
      if (!run) return refused;
      if (stimulus.node === -1) return run.outcome === undefined && !run.cancelAsked ? recorded : refused;
      const task = run.tasks[stimulus.node];
      return task && !isEnded(task) ? recorded : refused;
    }
    default:
      return recorded;
  }
}

function expectSubmission(model: Model, stimulus: Extract<Stimulus, { kind: "RunSubmitted" }>): Expectation {
  const { config } = model;
  const size = stimulus.graph.ids.length;
  const { agent } = stimulus;
  if (model.runById(stimulus.runId) || size > (config?.maxNodes ?? 0)) {
    return { type: "ignored", accepted: false };
  }
  if (model.backlog + size > (config?.backlogLimit ?? 0)) {
    return { type: "refused submission", agent, code: "backlog" };
  }
  const threshold = config?.rejectThreshold ?? Number.POSITIVE_INFINITY;
  if (model.usage >= threshold) return { type: "refused submission", agent, code: "backpressure" };
  return { type: "recorded", event: stimulus };
}

function expectReport(model: Model, report: Report): Expectation {
  const { kind, run, node, attempt } = report;
  const task = model.runs.get(run)?.tasks[node];
  if (isCurrent(task, kind, attempt)) return { type: "recorded", event: report };
  const code = task ? "stale" : "unknown";
  return {
    type: "recorded",
    event: { kind: "ReportRefused", run, node, attempt, report: kind, code },
  };
}

/** Above half of the workers' room, submitters are asked to slow down. */
export function checkReply(model: Model, expected: Expectation, reply: Reply): void {
  const accepted =
    expected.type === "ignored"
      ? expected.accepted
      : expected.type === "recorded" && expected.event.kind !== "ReportRefused";
  demand(
    reply.accepted === accepted,
    "reply",
    () => `a stimulus was answered ${JSON.stringify(reply)}, ${accepted} is right`,
  );
  if (reply.accepted) {
    demand(
      reply.throttle === model.usage > 0.5,
      "throttle",
      () => `throttle is ${reply.throttle} at a usage of ${model.usage}`,
    );
  }
}
