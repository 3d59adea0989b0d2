import { compareText } from "../core/index.ts";
import {
  type AgentCensus,
  agentCensus,
  agentsOf,
  type Census,
  runningByName,
  type State,
  zonedKey,
} from "../scheduler/index.ts";
import type { AgentView, Caller, LimitView, Metrics } from "./api.ts";

export function metricsOf(
  state: State,
  caller: Caller,
  now: number,
  { classes, queued, running }: Census,
  backend: string,
): Metrics {
  const { zone } = caller;
  const ended = state.totals.get(zone) ?? { completed: 0, failed: 0, cancelled: 0 };
  return {
    queueByClass: classes.map(({ count, sumWaitMs, maxWaitMs }, priorityClass) => ({
      priorityClass,
      count,
      avgWaitMs: count === 0 ? 0 : sumWaitMs / count,
      maxWaitMs,
    })),
    fairShare: Object.fromEntries(visibleAgents(state, caller, now).map((one) => [one.agent, shareOf(one)])),
    useHrrn: state.config.order === "hrrn",
    totals: { queued, running, ...ended },
    backend,
  };
}

function shareOf({ running, max }: AgentCensus): Metrics["fairShare"][string] {
  return { running, max, available: max === null ? null : Math.max(0, max - running) };
}

export function agentViews(state: State, caller: Caller, now: number): AgentView[] {
  return visibleAgents(state, caller, now).map(viewOf);
}

/** Whoever is no admin of the zone is told of no agent but itself. */
export function visibleAgents(
  state: State,
  { zone, agent, isZoneAdmin }: Caller,
  now: number,
): AgentCensus[] {
  return isZoneAdmin ? agentsOf(state, zone, now) : [agentCensus(state, zone, agent, now)];
}

export function agentViewOf(state: State, zone: string, agent: string, now: number): AgentView {
  return viewOf(agentCensus(state, zone, agent, now));
}

function viewOf({ max, ...rest }: AgentCensus): AgentView {
  return { ...rest, maxConcurrent: max };
}

/** Those that somebody set, those of the settings, and whatever else runs under one. */
export function limitsOf(state: State, zone: string): LimitView[] {
  const names = new Set(Object.keys(state.config.resources ?? {}));
  const running = runningByName(state);
  for (const key of [...state.limits.keys(), ...running.keys()]) {
    const [ofZone, name] = JSON.parse(key) as [string, string];
    if (ofZone === zone && (running.has(key) || state.limits.get(key)?.isConfigured)) names.add(name);
  }
  return [...names].sort(compareText).map((name) => limitView(state, zone, name, running));
}

export function limitView(
  state: State,
  zone: string,
  name: string,
  runningBy: ReadonlyMap<string, number> = runningByName(state),
): LimitView {
  const key = zonedKey(zone, name);
  const {
    concurrency = null,
    rateCount = null,
    ratePeriodMs = 0,
  } = state.limits.get(key)?.toSnapshot() ?? {};
  const running = runningBy.get(key) ?? 0;
  return {
    name,
    concurrency: concurrency ?? state.capacityOf(name),
    rate: rateCount === null ? null : { count: rateCount, periodMs: ratePeriodMs },
    running,
  };
}
