import type { AgentConfigured } from "../ledger/index.ts";
import { type Model, ofZone } from "./model.ts";
import { carriedOver, hasRate } from "./model-admission.ts";

interface Rate {
  readonly count: number;
  readonly periodMs: number;
}

/** The agent's own, else everyone's; null: as fast as it likes. */
function rateOf(model: Model, key: string): Rate | null {
  const own = model.agentRates.get(key);
  if (own !== undefined) return own;
  const { submitRate = null, submitRatePeriodMs = 1000 } = model.settings;
  return submitRate === null ? null : { count: submitRate, periodMs: submitRatePeriodMs };
}

export function maySubmit(model: Model, zone: string, agent: string, now: number): boolean {
  const used = model.submissions.get(ofZone(zone, agent));
  return used === undefined || hasRate(used, now);
}

/** A graph counts as one, whatever its size. */
export function noteSubmission(
  model: Model,
  { zone, agent }: { readonly zone: string; readonly agent: string },
  now: number,
): void {
  const key = ofZone(zone, agent);
  const rate = rateOf(model, key);
  if (rate === null) return;
  const { count: rateCount, periodMs } = rate;
  const none = { concurrency: null, rateCount, periodMs, setAt: now, owed: 0n, starts: [] };
  const used = model.submissions.get(key) ?? none;
  used.starts.push(now);
  model.submissions.set(key, used);
}

export function setAgentRate(model: Model, event: AgentConfigured, now: number): void {
  const key = ofZone(event.zone, event.agent);
  const { rateCount, ratePeriodMs = 1000 } = event;
  if (rateCount === undefined) model.agentRates.delete(key);
  else model.agentRates.set(key, rateCount === null ? null : { count: rateCount, periodMs: ratePeriodMs });
  adjustRate(model, key, now);
}

/** What was submitted under the old rate counts under the new one. */
export function adjustRate(model: Model, key: string, now: number): void {
  const used = model.submissions.get(key);
  if (!used) return;
  const rate = rateOf(model, key);
  if (rate === null) {
    model.submissions.delete(key);
    return;
  }
  const { count: rateCount, periodMs } = rate;
  const owed = carriedOver(used, rateCount, periodMs, now);
  model.submissions.set(key, { concurrency: null, rateCount, periodMs, setAt: now, owed, starts: [] });
}
