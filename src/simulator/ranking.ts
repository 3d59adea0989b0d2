import type { Model } from "./model.ts";
import { isDemoted } from "./model-admission.ts";
import { isDue, type ModelTask } from "./model-tasks.ts";

/** Which of two that may be handed out goes first at that moment. */
export function outranks(model: Model, a: ModelTask, b: ModelTask, now: number): boolean {
  switch (model.settings.order) {
    case "graph":
      return byGraph(a, b) < 0;
    case "hrrn":
      return (classNow(model, a, now) - classNow(model, b, now) || byRatio(a, b, now) || byAge(a, b)) < 0;
    case "classic":
      return (tierNow(model, a, now) - tierNow(model, b, now) || byAge(a, b)) < 0;
  }
}

/** Urgency, earlier submission, more work held up, place in the graph. */
function byGraph(a: ModelTask, b: ModelTask): number {
  return a.tier - b.tier || a.seq - b.seq || withinRun(a, b);
}

function withinRun(a: ModelTask, b: ModelTask): number {
  return b.holdsUpMs - a.holdsUpMs || a.node - b.node;
}

/** (wait + estimate) / estimate, higher first, as fractions. */
function byRatio(a: ModelTask, b: ModelTask, now: number): number {
  const left = BigInt(now - a.readyAt + estimateOf(a)) * BigInt(estimateOf(b));
  const right = BigInt(now - b.readyAt + estimateOf(b)) * BigInt(estimateOf(a));
  return left > right ? -1 : left < right ? 1 : 0;
}

function byAge(a: ModelTask, b: ModelTask): number {
  return a.readyAt - b.readyAt || (a.publicId < b.publicId ? -1 : 1);
}

function estimateOf({ spec }: ModelTask): number {
  return spec.estimateMs > 0 ? spec.estimateMs : 1;
}

export function isDeadlineNear(model: Model, task: ModelTask, now: number): boolean {
  if (task.deadline < 0) return false;
  return task.deadline - now <= Math.floor(model.settings.deadlineLift * estimateOf(task));
}

/** 0 interactive, 1 batch, 2 background: lowered by cost, then raised by the wait and by the deadline. */
export function classNow(model: Model, task: ModelTask, now: number): number {
  const { starveBackgroundMs, starveBatchMs } = model.settings;
  const waited = now - task.readyAt;
  let at = task.startClass;
  if (at === 0 && isDemoted(model, task, now)) at = 1;
  if (at === 2 && waited > starveBackgroundMs) at = 1;
  if (at === 1 && starveBatchMs !== null && waited > starveBatchMs) at = 0;
  return isDeadlineNear(model, task, now) ? 0 : at;
}

/** One tier up for each time that it has waited so long, looked at in steps; at least HIGH when it is high time. */
export function tierNow(model: Model, task: ModelTask, now: number): number {
  const { ageEveryMs, ageStepMs, maxWaitMs } = model.settings;
  const waited = now - task.readyAt;
  const seen = Math.floor(waited / ageStepMs) * ageStepMs;
  const aged = Math.max(0, task.tier - Math.floor(seen / ageEveryMs));
  const highTime = waited > maxWaitMs || isDeadlineNear(model, task, now);
  return highTime ? Math.min(aged, 1) : aged;
}

/** What may be handed out next: tasks of no run, and of each run and kind the one that its own order puts first. */
export function heads(model: Model, now: number): ModelTask[] {
  const firsts = new Map<string, ModelTask>();
  for (const task of model.offered) {
    if (!isDue(task, now)) continue;
    const first = firsts.get(task.laneKey);
    if (!first || withinRun(task, first) < 0) firsts.set(task.laneKey, task);
  }
  return [...firsts.values()];
}

/** Of all that start under the same conditions on the same workers, the first: only it can have a worker kept free. */
export function firstsOfGroups(model: Model, now: number): ModelTask[] {
  const firsts = new Map<string, ModelTask>();
  for (const task of heads(model, now)) {
    const first = firsts.get(task.groupKey);
    if (!first || outranks(model, task, first, now)) firsts.set(task.groupKey, task);
  }
  return [...firsts.values()];
}
