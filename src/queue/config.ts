/** In what order the waiting go: graphs by their critical path, by response ratio, or by tiers that age. */
export type Order = "graph" | "hrrn" | "classic";

/** What decides the order and who may start. It is recorded: a decision depends on nothing outside of it. */
export interface QueueConfig {
  readonly order: Order;
  /** What one tier of boost costs. */
  readonly boostTierMicros: number;
  readonly maxBoostTiers: number;
  /** A task rises by one tier each time that it has waited this long; the wait is looked at in steps. */
  readonly ageEveryMs: number;
  readonly ageStepMs: number;
  /** What waited longer than this is at least HIGH. */
  readonly maxWaitMs: number;
  /** Background that waited longer than this counts as batch. */
  readonly starveBackgroundMs: number;
  /** Batch that waited longer than this counts as interactive; null: never. */
  readonly starveBatchMs: number | null;
  /** A task is lifted when what remains to its deadline is at most this many of its estimates. */
  readonly deadlineLift: number;
  /** An agent that cost more than the threshold within the window is demoted; null: never. */
  readonly costWindowMs: number;
  readonly costThresholdMicros: number | null;
  /** How many tasks of one agent run at once; null: as many as fit. */
  readonly fairShare: number | null;
  /** What happens to a submission of an agent that is at its limit. */
  readonly overLimit: "wait" | "reject";
  /** Whether boost is paid for. */
  readonly credits: boolean;
  /** How many submissions of one agent are taken in each period; left out or null: as many as come. */
  readonly submitRate?: number | null;
  /** By default a second. */
  readonly submitRatePeriodMs?: number;
}

export const DEFAULT_QUEUE: QueueConfig = {
  order: "graph",
  boostTierMicros: 10_000,
  maxBoostTiers: 2,
  ageEveryMs: 120_000,
  ageStepMs: 60_000,
  maxWaitMs: 600_000,
  starveBackgroundMs: 900_000,
  starveBatchMs: null,
  deadlineLift: 2,
  costWindowMs: 3_600_000,
  costThresholdMicros: null,
  fairShare: null,
  overLimit: "wait",
  credits: false,
};
