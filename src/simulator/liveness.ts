import { type State, whyNotYet } from "../scheduler/index.ts";
import type { Model } from "./model.ts";
import { isTooLarge } from "./model-admission.ts";
import { aboutTask, describeTask, isEnded, isWaiting, type ModelTask } from "./model-tasks.ts";
import { LONGEST_MS } from "./random-graph.ts";
import type { Tally } from "./tally.ts";
import { ableWorkers, trueReasons } from "./true-reasons.ts";
import { Violation } from "./violation.ts";

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
  if (task.status === "expanded") return task.added?.tasks.some((one) => isStuck(model, one)) ?? false;
  if (!isWaiting(task)) return false;
  if (task.standsFor) return isStuck(model, task.standsFor);
  return isHopeless(model, task) || task.needs.some((need) => isStuck(model, need));
}

function isHopeless(model: Model, task: ModelTask): boolean {
  return task.status === "held" || ableWorkers(model, task).length === 0 || isTooLarge(model, task);
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

/** What will wait for ever, once all is calm. */
export function countStuck(model: Model, tally: Tally): void {
  for (const task of model.tasks()) {
    if (!isWaiting(task)) continue;
    const [reason] = trueReasons(model, task, model.now);
    if (reason?.code === "Held") tally.count("held to the end");
    if (reason?.code === "Unsatisfiable") tally.count("unsatisfiable to the end");
  }
}
