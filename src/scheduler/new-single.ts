import { alternativeIdOf } from "../core/index.ts";
import { speculationTag, type TaskSpec } from "../graph/index.ts";
import type { SchedulerConfig, TaskSubmitted } from "../ledger/index.ts";
import { boostTiers, classify, startTier } from "../queue/index.ts";
import type { Group } from "./group.ts";
import type { Run } from "./run.ts";
import type { AlternativeOf, Single } from "./singles.ts";
import { Status } from "./status.ts";

/** Which of the tasks of no run it is, and what it has in common with others. */
interface Place {
  readonly number: number;
  readonly seq: number;
  readonly now: number;
  readonly spec: TaskSpec;
  readonly group: Group;
}

/** `clockOffsetMs`: the time of day, which the event's times are in, minus the ledger's time. */
export function submittedSingle(
  event: TaskSubmitted,
  place: Place,
  config: SchedulerConfig,
  clockOffsetMs: number,
): Single {
  const { id, requestState, boostMicros, requestHash } = event;
  const { number, seq, now, spec, group } = place;
  const tier = startTier(spec.priority, boostMicros, config);
  const runAt = ledgerTime(event.runAt, clockOffsetMs);
  const isLater = runAt > now;
  return {
    number,
    id,
    // The group's, because each request brings its own copies of the names.
    agent: group.agent,
    zone: group.zone,
    spec,
    requestState,
    boostMicros,
    reservedMicros: config.credits ? boostCost(boostMicros, config) : 0,
    deadline: ledgerTime(event.deadline, clockOffsetMs),
    requestHash,
    submittedAt: now,
    seq,
    readyAt: Math.max(now, runAt),
    tier,
    class: classify(tier, requestState),
    group,
    attemptsBefore: event.attempts,
    alternativeOf: undefined,
    estimateMs: Math.max(1, spec.estimateMs),
    standing: 0,
    weight: 0,
    node: number,
    status: isLater ? Status.delayed : Status.ready,
    attempt: event.attempts,
    excused: 0,
    worker: -1,
    since: isLater ? runAt : now,
    lastSeq: seq,
    offered: false,
    home: undefined,
  };
}

/** A time of day in the ledger's time. -1, which says that there is no such time, stays as it is. */
export function ledgerTime(timeOfDay: number, clockOffsetMs: number): number {
  return timeOfDay < 0 ? timeOfDay : Math.max(0, timeOfDay - clockOffsetMs);
}

/**
 * A task that tries what a node should do. It has waited for as long as the node. In orders it stands by the event that
 * gives it out, which is another for each.
 */
export function alternativeSingle(of: AlternativeOf, run: Run, place: Place): Single {
  const { number, seq, now, spec, group } = place;
  return {
    number,
    id: alternativeIdOf(run.taskIdOf(of.node), speculationTag(of.at)),
    agent: run.agent,
    zone: run.zone,
    spec,
    requestState: "pending",
    boostMicros: 0,
    reservedMicros: 0,
    deadline: -1,
    requestHash: run.requestHashOf(of.node),
    submittedAt: now,
    seq: seq + 1 + of.at,
    readyAt: run.readyAtOf(of.node),
    tier: spec.priority,
    class: classify(spec.priority, "pending"),
    group,
    attemptsBefore: 0,
    alternativeOf: of,
    estimateMs: Math.max(1, spec.estimateMs),
    standing: 0,
    weight: 0,
    node: number,
    status: Status.ready,
    attempt: 0,
    excused: 0,
    worker: -1,
    since: now,
    lastSeq: seq,
    offered: false,
    home: undefined,
  };
}

/** What a boost costs: the tiers that it buys. */
export function boostCost(boostMicros: number, config: SchedulerConfig): number {
  return boostTiers(boostMicros, config) * config.boostTierMicros;
}
