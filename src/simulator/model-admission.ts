import type { LimitConfigured } from "../ledger/index.ts";
import { hasOpenWorker } from "./able-workers.ts";
import { type Model, type ModelLimit, ofZone } from "./model.ts";
import type { ModelTask } from "./model-tasks.ts";

export type Barrier = "pause" | "share" | "room" | "rate";

/** All that keeps a task from starting, whatever the workers could take. Counted anew each time. */
export function barriersOf(model: Model, task: ModelTask, now: number): Set<Barrier> {
  const found = new Set<Barrier>();
  const { zone, agent, spec } = task;
  if (model.paused.has(ofZone(zone, "")) || model.paused.has(ofZone(zone, spec.executor))) found.add("pause");
  const max = maxOf(model, zone, agent);
  if (max !== null && runningOf(model, zone, agent) >= max) found.add("share");
  for (const name of spec.limits) {
    const limit = model.limits.get(ofZone(zone, name));
    const wanted = runningUnder(model, zone, name) + amountOf(task, name) + keptFrom(model, task, name);
    if (wanted > mostOf(model, zone, name)) found.add("room");
    if (limit && limit.rateCount !== null && !hasRate(limit, now)) found.add("rate");
  }
  return found;
}

/** What another task that has waited too long has kept of a limit, if it could start at all. */
export function keptFrom(model: Model, task: ModelTask, name: string): number {
  const waiting = model.roomFor.get(task.zone);
  if (!waiting || waiting === task || !fitsAtAll(model, waiting) || !hasOpenWorker(model, waiting)) return 0;
  return amountOf(waiting, name);
}

/** Asks once for all tasks that start under the same conditions. */
export class Admissions {
  readonly #model: Model;
  readonly #now: number;
  readonly #known = new Map<string, boolean>();

  constructor(model: Model, now: number) {
    this.#model = model;
    this.#now = now;
  }

  admits(task: ModelTask): boolean {
    if (this.#model.roomFor.get(task.zone) === task)
      return barriersOf(this.#model, task, this.#now).size === 0;
    let admits = this.#known.get(task.groupKey);
    if (admits === undefined) {
      admits = barriersOf(this.#model, task, this.#now).size === 0;
      this.#known.set(task.groupKey, admits);
    }
    return admits;
  }
}

/** The agent's own, else its zone's, else everyone's. */
export function maxOf(model: Model, zone: string, agent: string): number | null {
  const own = model.agentMax.get(ofZone(zone, agent));
  if (own !== undefined) return own;
  const ofItsZone = model.zoneMax.get(zone);
  return ofItsZone !== undefined ? ofItsZone : model.settings.fairShare;
}

export function runningOf(model: Model, zone: string, agent: string): number {
  let running = 0;
  for (const task of model.placed()) if (task.zone === zone && task.agent === agent) running++;
  return running;
}

export function runningUnder(model: Model, zone: string, name: string): number {
  let running = 0;
  for (const task of model.placed()) if (task.zone === zone) running += amountOf(task, name);
  return running;
}

export function fitsAtAll(model: Model, task: ModelTask): boolean {
  return task.spec.limits.every((name) => amountOf(task, name) <= mostOf(model, task.zone, name));
}

/** Whether it counts more towards a limit than there is of it, though there is some. */
export function isTooLarge(model: Model, task: ModelTask): boolean {
  return task.spec.limits.some((name) => {
    const most = mostOf(model, task.zone, name);
    return most > 0 && amountOf(task, name) > most;
  });
}

/** What may run at once under a limit: what it was set to, else what the configuration says for all zones. */
export function mostOf(model: Model, zone: string, name: string): number {
  const set = model.limits.get(ofZone(zone, name))?.concurrency ?? null;
  return set ?? model.settings.resources?.[name] ?? Number.POSITIVE_INFINITY;
}

/** What a task counts towards a limit. */
export function amountOf({ spec }: ModelTask, name: string): number {
  const at = spec.limits.indexOf(name);
  return at === -1 ? 0 : (spec.amounts[at] ?? 1);
}

/**
 * What is owed of a rate at a time, from all starts since it was set: each adds a period, each millisecond takes
 * `rateCount` away, and nothing is saved up.
 */
function owedAt({ rateCount, periodMs, setAt, owed, starts }: ModelLimit, now: number): bigint {
  const perMs = BigInt(rateCount ?? 0);
  let left = owed;
  let at = setAt;
  const pass = (to: number) => {
    left -= BigInt(to - at) * perMs;
    if (left < 0n) left = 0n;
    at = to;
  };
  for (const start of starts) {
    pass(start);
    left += BigInt(periodMs);
  }
  pass(now);
  return left;
}

/** One more fits into what a period allows. */
export function hasRate(limit: ModelLimit, now: number): boolean {
  const { rateCount, periodMs } = limit;
  return owedAt(limit, now) + BigInt(periodMs) <= BigInt(rateCount ?? 0) * BigInt(periodMs);
}

/** The first moment at which every rate that the task names has room again. */
export function rateFreeAt(model: Model, task: ModelTask, now: number): number {
  let latest = now;
  for (const name of task.spec.limits) {
    const limit = model.limits.get(ofZone(task.zone, name));
    if (!limit || limit.rateCount === null || hasRate(limit, now)) continue;
    latest = Math.max(latest, rateOpensAt(limit, now));
  }
  return latest;
}

/** When a rate that is used up has room again. */
export function rateOpensAt(limit: ModelLimit, now: number): number {
  const perMs = BigInt(limit.rateCount ?? 0);
  const excess = owedAt(limit, now) - (perMs - 1n) * BigInt(limit.periodMs);
  return now + Number((excess + perMs - 1n) / perMs);
}

/** What was used of the old rate stays used, in starts, rounded up to a part, but never more than the new one holds. */
export function carriedOver(before: ModelLimit, rateCount: number, periodMs: number, now: number): bigint {
  const was = BigInt(before.periodMs);
  const owed = (owedAt(before, now) * BigInt(periodMs) + was - 1n) / was;
  const most = BigInt(periodMs) * BigInt(rateCount);
  if (owed > most) return most;
  return owed;
}

export function setLimit(model: Model, event: LimitConfigured, now: number): void {
  const { zone, name, concurrency, rateCount, ratePeriodMs: periodMs } = event;
  const before = model.limits.get(ofZone(zone, name));
  const isRated = before && before.rateCount !== null && rateCount !== null;
  const owed = isRated ? carriedOver(before, rateCount, periodMs, now) : 0n;
  model.limits.set(ofZone(zone, name), { concurrency, rateCount, periodMs, setAt: now, owed, starts: [] });
}

export function noteStart(model: Model, task: ModelTask, now: number): void {
  for (const name of task.spec.limits) {
    const limit = model.limits.get(ofZone(task.zone, name));
    if (limit && limit.rateCount !== null) limit.starts.push(now);
  }
}

/** What is kept of an agent's credits for tasks that have not ended. */
export function reservedOf(model: Model, zone: string, agent: string): number {
  let reserved = 0;
  for (const task of model.singles.values()) {
    if (task.zone === zone && task.agent === agent) reserved += task.reservedMicros;
  }
  return reserved;
}

/** How many steps a window of costs is cut into: a cost counts until all of its step is a window old. */
const COST_STEPS = 60;

/** The last moment of the step that a cost is kept in. */
export function lastOfStep(at: number, windowMs: number): number {
  const stepMs = Math.ceil(windowMs / COST_STEPS);
  return (Math.floor(at / stepMs) + 1) * stepMs - 1;
}

/** What an agent cost within the window. */
export function costOf(model: Model, zone: string, agent: string, now: number): number {
  const { costWindowMs } = model.settings;
  let sum = 0;
  for (const { at, micros } of model.costs.get(ofZone(zone, agent)) ?? []) {
    if (lastOfStep(at, costWindowMs) > now - costWindowMs) sum += micros;
  }
  return sum;
}

export function isDemoted(model: Model, { zone, agent }: ModelTask, now: number): boolean {
  const { costThresholdMicros } = model.settings;
  return costThresholdMicros !== null && costOf(model, zone, agent, now) > costThresholdMicros;
}
