import { type State, type WaitReason, whyNotYet } from "../scheduler/index.ts";
import { aboutTask, describeTask, isEnded, isWaiting, type Model, type ModelTask } from "./model.ts";
import { couldEverRun } from "./oracle.ts";
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
  return (
    task.status === "held" ||
    !model.workers.some((worker) => worker.standing !== "unreachable" && couldEverRun(worker, task))
  );
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

/** What waits can say why; what will wait for ever says so. */
export function checkReasons(model: Model, state: State): void {
  for (const run of model.runs.values()) {
    if (run.outcome !== undefined) continue;
    const known = state.run(run.number);
    for (const task of run.tasks) {
      const reasons = whyNotYet(state, known, task.node);
      demand(
        isWaiting(task) === reasons.length > 0,
        "why-not-yet",
        () => `${describeTask(task)} waits because of ${JSON.stringify(reasons)}`,
        aboutTask(task),
      );
    }
  }
}

export function checkStuck(model: Model, state: State, tally: Tally): void {
  for (const run of model.runs.values()) {
    if (run.outcome !== undefined) continue;
    for (const task of run.tasks) {
      if (isEnded(task)) continue;
      const primary = whyNotYet(state, state.run(run.number), task.node)[0]?.code;
      demand(
        primary !== undefined && expectedCodes(model, task).includes(primary),
        "why-stuck",
        () => `${describeTask(task)} says ${primary}, not ${expectedCodes(model, task).join(" or ")}`,
        aboutTask(task),
      );
      if (primary === "Held") tally.count("held to the end");
      if (primary === "Unsatisfiable") tally.count("unsatisfiable to the end");
    }
  }
}

function expectedCodes(model: Model, task: ModelTask): WaitReason["code"][] {
  const able = model.workers.some(
    (worker) => worker.standing !== "unreachable" && couldEverRun(worker, task),
  );
  if (!able) return ["Unsatisfiable"];
  return task.status === "held" ? ["Held"] : ["Dependencies"];
}
