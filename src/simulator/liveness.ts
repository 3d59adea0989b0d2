import { type State, type WaitReason, whyNotYet } from "../scheduler/index.ts";
import { couldEverRun } from "./able-workers.ts";
import type { Model } from "./model.ts";
import { barriersOf, isTooLarge } from "./model-admission.ts";
import { lanesThatMayWait } from "./model-data.ts";
import {
  aboutTask,
  describeTask,
  isDue,
  isEnded,
  isWaiting,
  type ModelTask,
  type ModelWorker,
} from "./model-tasks.ts";
import { LONGEST_MS } from "./random-graph.ts";
import { Ranking } from "./ranking.ts";
import type { Tally } from "./tally.ts";
import { demand, Violation } from "./violation.ts";

/** Messages, heartbeats and leases around an attempt. */
const AROUND_AN_ATTEMPT_MS = 20_000;

/** How long all open work may take at the very worst, one attempt after the other. */
export function longestMs(model: Model): number {
  let sum = 120_000;
  for (const task of model.tasks()) {
    if (isEnded(task)) continue;
    const { maxAttempts, backoffMs, timeoutMs } = task.spec;
    const waitMs = 2 * Math.min(backoffMs * 2 ** maxAttempts, model.settings.maxBackoffMs);
    sum += maxAttempts * (LONGEST_MS + timeoutMs + waitMs + AROUND_AN_ATTEMPT_MS);
    if (task.status === "delayed") sum += Math.max(0, task.since - model.now);
  }
  return sum;
}

/** Whether all that can happen has happened. */
export function isSettled(model: Model): boolean {
  for (const run of model.runs.values()) {
    if (run.outcome === undefined && !run.tasks.every((task) => isEnded(task) || isStuck(model, task)))
      return false;
  }
  return [...model.singles.values()].every((task) => isStuck(model, task));
}

/** Waits for a person, for a worker that does not exist, for more than a limit allows, or for a task that does. */
function isStuck(model: Model, task: ModelTask): boolean {
  if (task.status === "speculating") {
    const open = task.speculation?.alternatives.filter((one) => !isEnded(one)) ?? [];
    return open.length > 0 && open.every((one) => isStuck(model, one));
  }
  if (!isWaiting(task)) return false;
  return isHopeless(model, task) || task.needs.some((need) => isStuck(model, need));
}

function isHopeless(model: Model, task: ModelTask): boolean {
  return task.status === "held" || ableWorkers(model, task).length === 0 || isTooLarge(model, task);
}

function ableWorkers(model: Model, task: ModelTask): ModelWorker[] {
  return model.workers.filter((worker) => worker.standing !== "unreachable" && couldEverRun(worker, task));
}

export function failLiveness(model: Model, state: State | undefined): never {
  if (!state) throw new Violation("liveness", "no server comes up");
  for (const run of model.runs.values()) {
    const open = run.tasks.find((task) => !isEnded(task) && !isStuck(model, task));
    if (!open || run.outcome !== undefined) continue;
    const why = JSON.stringify(whyNotYet(state, state.run(run.number), open.node));
    throw new Violation("liveness", `${describeTask(open)} does not end: ${why}`, aboutTask(open));
  }
  for (const task of model.singles.values()) {
    if (isStuck(model, task)) continue;
    const why = JSON.stringify(whyNotYet(state, state.singles, task.node));
    throw new Violation("liveness", `${describeTask(task)} does not end: ${why}`, aboutTask(task));
  }
  throw new Violation("liveness", "nothing is open, and yet it does not end");
}

/** Whatever waits can say why, and the first reason that it gives is the true one. */
export function checkReasons(model: Model, state: State, now: number): void {
  const mayWait = lanesThatMayWait(model, now);
  for (const run of model.runs.values()) {
    if (run.outcome !== undefined) continue;
    for (const task of run.tasks) checkReason(model, state, task, now, mayWait);
  }
  for (const task of model.singles.values()) checkReason(model, state, task, now, mayWait);
}

function checkReason(
  model: Model,
  state: State,
  task: ModelTask,
  now: number,
  mayWait: ReadonlySet<string>,
): void {
  const reasons = whyNotYet(state, state.tasks(task.run.number), task.node);
  const primary = reasons[0]?.code;
  if (mayWait.has(task.laneKey) && isDue(task, model.now)) return;
  const truth = isWaiting(task) ? trueReason(model, task) : undefined;
  demand(
    primary === truth,
    "why-not-yet",
    () => `${describeTask(task)} says ${primary}, ${truth} is true`,
    aboutTask(task),
  );
  // What fell due in a turn that recorded nothing is ahead of the state's time, at which it answers.
  if (now === model.now && isDue(task, now)) checkAhead(model, task, reasons, now);
}

/** How many ready tasks that could run at all go before it. */
function checkAhead(model: Model, task: ModelTask, reasons: readonly WaitReason[], now: number): void {
  const due = [...model.offered].filter((other) => isDue(other, now));
  const able = new Set(due.filter((other) => ableWorkers(model, other).length > 0));
  const standing = due.filter((other) => able.has(other) || other.laneKey === task.laneKey);
  const truth = new Ranking(model, now).ahead(task, standing).filter((other) => able.has(other)).length;
  const outranked = reasons.find((reason) => reason.code === "Outranked");
  const ahead = outranked?.code === "Outranked" ? outranked.ahead : 0;
  demand(
    ahead === truth,
    "why-outranked",
    () => `${describeTask(task)} says that ${ahead} go before it, ${truth} do`,
    aboutTask(task),
  );
}

/** Between turns: whatever is ready and may start has no place, or it would have one. */
function trueReason(model: Model, task: ModelTask): WaitReason["code"] {
  const able = ableWorkers(model, task);
  const barriers = barriersOf(model, task, model.now);
  if (able.length === 0 || isTooLarge(model, task)) return "Unsatisfiable";
  if (task.status === "held" || barriers.has("pause")) return "Held";
  if (able.every(({ standing }) => standing === "draining")) return "Held";
  if (task.status === "delayed" && task.since > model.now) return "NotDue";
  if (!task.needs.every(({ status }) => status === "completed")) return "Dependencies";
  return barriers.size > 0 ? "Admission" : "Capacity";
}

/** What will wait for ever, once all is calm. */
export function countStuck(model: Model, tally: Tally): void {
  for (const task of model.tasks()) {
    if (!isWaiting(task)) continue;
    const reason = trueReason(model, task);
    if (reason === "Held") tally.count("held to the end");
    if (reason === "Unsatisfiable") tally.count("unsatisfiable to the end");
  }
}
