import { type State, type WaitReason, whyNotYet } from "../scheduler/index.ts";
import {
  aboutTask,
  describeTask,
  isDue,
  isEnded,
  isWaiting,
  type Model,
  type ModelTask,
  type ModelWorker,
} from "./model.ts";
import { couldEverRun, outranks } from "./oracle.ts";
import { LONGEST_MS } from "./random-graph.ts";
import type { Tally } from "./tally.ts";
import { demand, Violation } from "./violation.ts";

/** Messages, heartbeats and leases around an attempt. */
const AROUND_AN_ATTEMPT_MS = 20_000;

/** How long all open work may take at the very worst, one attempt after the other. */
export function longestMs(model: Model): number {
  let sum = 120_000;
  for (const run of model.runs.values()) {
    for (const task of run.tasks) {
      if (isEnded(task)) continue;
      const { maxAttempts, backoffMs, timeoutMs } = task.spec;
      const waitMs = Math.min(backoffMs * 2 ** maxAttempts, model.config?.maxBackoffMs ?? 0);
      sum += maxAttempts * (LONGEST_MS + timeoutMs + waitMs + AROUND_AN_ATTEMPT_MS);
    }
  }
  return sum;
}

/** Whether all that can happen has happened. */
export function isSettled(model: Model): boolean {
  for (const run of model.runs.values()) {
    if (run.outcome === undefined && !run.tasks.every((task) => isEnded(task) || isStuck(model, task)))
      return false;
  }
  return true;
}

/** Waits for a person, for a worker that does not exist, or for a task that does. */
function isStuck(model: Model, task: ModelTask): boolean {
  if (!isWaiting(task)) return false;
  return isHopeless(model, task) || task.needs.some((need) => isStuck(model, need));
}

function isHopeless(model: Model, task: ModelTask): boolean {
  return task.status === "held" || ableWorkers(model, task).length === 0;
}

function ableWorkers(model: Model, task: ModelTask): ModelWorker[] {
  return model.workers.filter((worker) => worker.standing !== "unreachable" && couldEverRun(worker, task));
}

export function failLiveness(model: Model, state: State): never {
  for (const run of model.runs.values()) {
    const open = run.tasks.find((task) => !isEnded(task) && !isStuck(model, task));
    if (!open || run.outcome !== undefined) continue;
    const why = JSON.stringify(whyNotYet(state, state.run(run.number), open.node));
    throw new Violation("liveness", `${describeTask(open)} does not end: ${why}`, aboutTask(open));
  }
  throw new Violation("liveness", "nothing is open, and yet it does not end");
}

/** Whatever waits can say why, and the first reason that it gives is the true one. */
export function checkReasons(model: Model, state: State, now: number): void {
  for (const run of model.runs.values()) {
    if (run.outcome !== undefined) continue;
    const known = state.run(run.number);
    for (const task of run.tasks) {
      const reasons = whyNotYet(state, known, task.node);
      const primary = reasons[0]?.code;
      const truth = isWaiting(task) ? trueReason(model, task) : undefined;
      demand(
        primary === truth,
        "why-not-yet",
        () => `${describeTask(task)} says ${primary}, ${truth} is true`,
        aboutTask(task),
      );
      if (isDue(task, model.now)) checkAhead(model, task, reasons, now);
    }
  }
}

/** How many ready tasks that could run at all go before it. */
function checkAhead(model: Model, task: ModelTask, reasons: readonly WaitReason[], now: number): void {
  let truth = 0;
  for (const other of model.offered) {
    if (isDue(other, now) && outranks(other, task) && ableWorkers(model, other).length > 0) truth++;
  }
  const outranked = reasons.find((reason) => reason.code === "Outranked");
  const ahead = outranked?.code === "Outranked" ? outranked.ahead : 0;
  demand(
    ahead === truth,
    "why-outranked",
    () => `${describeTask(task)} says that ${ahead} go before it, ${truth} do`,
    aboutTask(task),
  );
}

/** Between turns: whatever is ready has no place, or it would have one. */
function trueReason(model: Model, task: ModelTask): WaitReason["code"] {
  const able = ableWorkers(model, task);
  if (able.length === 0) return "Unsatisfiable";
  if (task.status === "held" || able.every(({ standing }) => standing === "draining")) return "Held";
  if (task.status === "delayed" && task.since > model.now) return "NotDue";
  return task.needs.every(({ status }) => status === "completed") ? "Capacity" : "Dependencies";
}

/** What will wait for ever, once all is calm. */
export function countStuck(model: Model, tally: Tally): void {
  for (const task of [...model.runs.values()].flatMap(({ tasks }) => tasks)) {
    if (!isWaiting(task)) continue;
    const reason = trueReason(model, task);
    if (reason === "Held") tally.count("held to the end");
    if (reason === "Unsatisfiable") tally.count("unsatisfiable to the end");
  }
}
