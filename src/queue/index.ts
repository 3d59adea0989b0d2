export {
  boostTiers,
  CLASS_NAMES,
  classAt,
  classify,
  effectiveTier,
  isDeadlineNear,
  type PriorityClass,
  REQUEST_STATES,
  type RequestState,
  startTier,
  TIER_NAMES,
  type Tier,
} from "./classes.ts";
export { DEFAULT_QUEUE, type Order, type QueueConfig } from "./config.ts";
export { CostWindow, type CostWindowSnapshot } from "./cost-window.ts";
export { Credits, type CreditsSnapshot } from "./credits.ts";
export type { Entry } from "./entry.ts";
export { FairShare, type FairShareSnapshot } from "./fair-share.ts";
export { Line } from "./line.ts";
export { goesBefore } from "./rank.ts";
export { Limit, type LimitSnapshot, NoLimit } from "./rate-limit.ts";
export { type Rate, SubmitRates, type SubmitRatesSnapshot } from "./submit-rates.ts";
