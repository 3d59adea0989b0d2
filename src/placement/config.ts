import type { Rates } from "./affinity.ts";

export const STRATEGIES = ["round-robin", "least-loaded", "random", "affinity"] as const;

export type Strategy = (typeof STRATEGIES)[number];

/** What decides placement. It is recorded in the ledger: a decision depends on nothing outside of it. */
export interface PlacementConfig {
  readonly strategy: Strategy;
  /** With any strategy, a candidate that holds input data wins over one that does not. */
  readonly preferLocality: boolean;
  /** What bringing data to a worker is reckoned to take. Left out: 1 ms for each input, and 10 µs for each KiB. */
  readonly transferRates?: Rates;
  /** How many tasks a worker may be given beyond those that it can run at once. */
  readonly maxQueuePerWorker: number;
  /** Lost workers that are remembered; beyond that the one that was lost first is forgotten. */
  readonly keepLostWorkers: number;
  /** Estimated bytes of the registrations of lost workers that are remembered. Left out: no limit. */
  readonly keepLostBytes?: number;
  /** Salt of the random strategy. */
  readonly seed: number;
  /** A worker whose load (per mille) reaches the first is overloaded until it falls below the second. */
  readonly overloadedAtPermille: number;
  readonly relievedBelowPermille: number;
}
