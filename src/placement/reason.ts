/** Why a worker was chosen: the true cause, not merely the strategy that was asked (P-11). */
export type Reason =
  | { readonly type: "OnlyWorkerAvailable" }
  | { readonly type: "ResourceFit"; readonly availableCpu: number; readonly requiredCpu: number }
  | { readonly type: "LeastLoaded"; readonly queueDepth: number }
  | { readonly type: "RoundRobin"; readonly index: number }
  | { readonly type: "Random"; readonly hash: number }
  | { readonly type: "Affinity"; readonly because: AffinityReason };

export type AffinityReason = "DataLocality" | "PreviouslyExecuted" | "SameZone";

/**
 * Why a worker was not a candidate: the first of these that applies. Resources come last, so that
 * `ResourceFit` can be told from `OnlyWorkerAvailable`.
 */
export const REJECTIONS = [
  "executor",
  "zone",
  "capability",
  "unreachable",
  "draining",
  "overloaded",
  "queue",
  "reserved",
  "cpu",
  "memory",
] as const;

export type Rejection = (typeof REJECTIONS)[number];
