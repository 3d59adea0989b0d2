import { NO_RUN, nodeOfKey, runOfKey } from "../placement/index.ts";
import { CLASS_NAMES, classAt, type Entry, type Rate } from "../queue/index.ts";
import { isDemoted } from "./admission.ts";
import { type Group, zonedKey } from "./group.ts";
import { Lane } from "./lane.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";

/** What waits and runs in a zone. */
export interface Census {
  /** By class, interactive first. */
  readonly classes: readonly {
    readonly count: number;
    readonly sumWaitMs: number;
    readonly maxWaitMs: number;
  }[];
  /** All that has not ended and is on no worker, also what waits for others or for its time. */
  readonly queued: number;
  readonly running: number;
}

export interface AgentCensus {
  readonly agent: string;
  readonly running: number;
  /** Null: no limit. */
  readonly max: number | null;
  /** Whether that was set for this agent, rather than for its zone or for all. */
  readonly hasOwnMax: boolean;
  /** How fast it may submit; null: no limit. */
  readonly rate: Rate | null;
  readonly hasOwnRate: boolean;
  readonly creditsMicros: number;
  readonly reservedMicros: number;
  /** Within the window. */
  readonly costMicros: number;
}

export function census(state: State, zone: string, now: number): Census {
  const classes = CLASS_NAMES.map(() => ({ count: 0, sumWaitMs: 0, maxWaitMs: 0 }));
  const withLanes = groupsWithLanes(state, zone);
  for (const group of groupsOf(state, zone)) {
    const demoted = isDemoted(state, group, now);
    const classOf = (one: Entry) => classAt(one, now, demoted, state.config);
    const count = (oldest: Entry, entries: number, sumOfReadyAt: number) => {
      const ofClass = classes[classOf(oldest)] as (typeof classes)[number];
      ofClass.count += entries;
      ofClass.sumWaitMs += Math.max(0, entries * now - sumOfReadyAt);
      ofClass.maxWaitMs = Math.max(ofClass.maxWaitMs, now - oldest.readyAt);
    };
    const countOne = (one: Entry) => count(one, 1, one.readyAt);
    if (!withLanes.has(group)) group.line.tally(count, classOf);
    else
      group.line.each((entry) => {
        if (entry instanceof Lane) for (const node of entry.nodes) countOne(entry.run.entryOf(node));
        else countOne(entry);
      });
  }
  return { classes, ...countOpen(state, zone) };
}

/** Agents of a zone that have work, a limit of their own, credits, or a cost within the window. */
export function agentsOf(state: State, zone: string, now: number): AgentCensus[] {
  const names = new Set<string>();
  for (const group of groupsOf(state, zone)) names.add(group.agent);
  const { own, running } = state.shares.toSnapshot();
  const keys = [...own, ...running, ...state.credits.toSnapshot().accounts, ...state.costs].map(
    ([key]) => key,
  );
  for (const key of [...keys, ...state.rates.own()]) {
    const [ofZone, agent] = JSON.parse(key) as [string, string];
    if (ofZone === zone) names.add(agent);
  }
  return [...names].sort().map((agent) => agentCensus(state, zone, agent, now));
}

export function agentCensus(state: State, zone: string, agent: string, now: number): AgentCensus {
  const key = zonedKey(zone, agent);
  return {
    agent,
    running: state.shares.running(key),
    max: state.shares.maxOf(zone, key),
    hasOwnMax: state.shares.hasOwn(key),
    rate: state.rates.rateOf(key),
    hasOwnRate: state.rates.hasOwn(key),
    creditsMicros: state.credits.balance(key),
    reservedMicros: state.credits.reserved(key),
    costMicros: state.costs.get(key)?.sum(now) ?? 0,
  };
}

function* groupsOf(state: State, zone: string): Generator<Group> {
  for (const pool of state.pools.values()) if (pool.demand.needs.zone === zone) yield* pool.groups.values();
}

/** Returns the groups in whose line an entry stands for several nodes. */
function groupsWithLanes(state: State, zone: string): Set<Group> {
  const groups = new Set<Group>();
  for (const run of state.runs.values()) {
    if (run.zone !== zone || run.outcome !== undefined) continue;
    for (const { group } of run.lanes()) groups.add(group);
  }
  return groups;
}

function countOpen(state: State, zone: string): { queued: number; running: number } {
  const queued = state.accounts.zones.get(zone)?.waiting ?? 0;
  let running = 0;
  for (const worker of state.fleet.known()) {
    for (const key of worker.held.keys())
      if (runOfKey(key) === NO_RUN && state.singles.zoneOf(nodeOfKey(key)) === zone) running++;
  }
  const { assigned, running: runs, cancelling } = Status;
  for (const run of state.runs.values()) {
    if (run.zone !== zone || run.outcome !== undefined) continue;
    for (const status of [assigned, runs, cancelling]) running += run.count(status);
  }
  return { queued, running };
}
