/** Why a worker was chosen: the true cause, not merely the strategy that was asked (P-11). */
export type Reason =
  | { readonly type: "OnlyWorkerAvailable" }
  | { readonly type: "ResourceFit"; readonly availableCpu: number; readonly requiredCpu: number }
  | { readonly type: "LeastLoaded"; readonly queueDepth: number }
  | { readonly type: "RoundRobin"; readonly index: number }
  | { readonly type: "Random"; readonly hash: number }
  | { readonly type: "Affinity"; readonly because: AffinityReason }
  | DataAffinity;

/** `SharedConsumer`: it makes what is used together with this. `Follows`: it is making the last of the inputs. */
export type AffinityReason =
  | "DataLocality"
  | "PreviouslyExecuted"
  | "SameZone"
  | "SharedConsumer"
  | "Follows";

/** What spoke for the worker among those that could get the task's inputs. */
export interface DataAffinity {
  readonly type: "DataAffinity";
  /** Of the inputs on workers, those that are here and those that have to be brought. */
  readonly heldBytes: number;
  readonly movedBytes: number;
  /** The expected wait in its queue. */
  readonly waitMicros: number;
  /** By how much it is better than the next. */
  readonly leadMicros: number;
}

/**
 * Why a worker was not a candidate: the first of these that applies. Resources come behind the others, so that
 * `ResourceFit` can be told from `OnlyWorkerAvailable`; last, that it gave the task back, where another could take it.
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
  "returned",
] as const;

export type Rejection = (typeof REJECTIONS)[number];
