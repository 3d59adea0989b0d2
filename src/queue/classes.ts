import type { QueueConfig } from "./config.ts";
import type { Entry } from "./entry.ts";

export type Tier = 0 | 1 | 2 | 3 | 4;
export const TIER_NAMES = ["critical", "high", "normal", "low", "best_effort"] as const;

export type PriorityClass = 0 | 1 | 2;
export const CLASS_NAMES = ["interactive", "batch", "background"] as const;

const CRITICAL: Tier = 0;
const HIGH: Tier = 1;
const INTERACTIVE: PriorityClass = 0;
const BATCH: PriorityClass = 1;
const BACKGROUND: PriorityClass = 2;
const CLASS_OF_TIER: readonly PriorityClass[] = [INTERACTIVE, INTERACTIVE, BATCH, BACKGROUND, BACKGROUND];

/** What a submitter says that its task mostly does. */
export const REQUEST_STATES = ["io_wait", "compute", "tool_call", "idle", "pending"] as const;
export type RequestState = (typeof REQUEST_STATES)[number];

/** The class that a task starts in. One that waits for others holds little up, so it need not stay behind. */
export function classify(tier: Tier, state: RequestState): PriorityClass {
  const ofTier = CLASS_OF_TIER[tier] as PriorityClass;
  return ofTier === BACKGROUND && state === "io_wait" ? BATCH : ofTier;
}

/** How many tiers a payment lifts. */
export function boostTiers(boostMicros: number, config: QueueConfig): number {
  return Math.min(Math.floor(boostMicros / config.boostTierMicros), config.maxBoostTiers);
}

/** The tier that a task starts with, after boost. */
export function startTier(base: Tier, boostMicros: number, config: QueueConfig): Tier {
  return raised(base, boostTiers(boostMicros, config));
}

/** The tier that classic order looks at: the start tier, raised by the wait and by a near deadline. */
export function effectiveTier(entry: Entry, now: number, config: QueueConfig): Tier {
  const aged = raised(entry.tier, ageing(now - entry.readyAt, config));
  if (aged <= HIGH) return aged;
  return now - entry.readyAt > config.maxWaitMs || isDeadlineNear(entry, now, config) ? HIGH : aged;
}

/**
 * The class that HRRN order looks at. Cost speaks first, so that a demoted task that starves or nears its
 * deadline is lifted all the same. Starvation goes up step by step: background that waited long enough for
 * both steps has made both.
 */
export function classAt(entry: Entry, now: number, demoted: boolean, config: QueueConfig): PriorityClass {
  if (isDeadlineNear(entry, now, config)) return INTERACTIVE;
  const waited = now - entry.readyAt;
  let at = entry.class;
  if (at === INTERACTIVE && demoted) at = BATCH;
  if (at === BACKGROUND && waited > config.starveBackgroundMs) at = BATCH;
  if (at === BATCH && config.starveBatchMs !== null && waited > config.starveBatchMs) at = INTERACTIVE;
  return at;
}

/** Once near, a deadline stays near, also after it has passed. */
export function isDeadlineNear(entry: Entry, now: number, config: QueueConfig): boolean {
  return now >= deadlineNearAt(entry, config);
}

/** When its deadline begins to count as near; never (infinity) without one. */
export function deadlineNearAt(entry: Entry, config: QueueConfig): number {
  if (entry.deadline < 0) return Number.POSITIVE_INFINITY;
  return entry.deadline - Math.floor(config.deadlineLift * entry.estimateMs);
}

function ageing(waited: number, config: QueueConfig): number {
  return Math.floor((waited - (waited % config.ageStepMs)) / config.ageEveryMs);
}

function raised(tier: Tier, tiers: number): Tier {
  return Math.max(CRITICAL, tier - tiers) as Tier;
}
