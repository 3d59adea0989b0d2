import { POLICY_VERSION, type SchedulerConfig } from "../ledger/index.ts";
import { DEFAULT_QUEUE } from "../queue/index.ts";

export const DEFAULT_CONFIG: SchedulerConfig = {
  policyVersion: POLICY_VERSION,
  strategy: "least-loaded",
  preferLocality: false,
  maxQueuePerWorker: 10,
  keepLostWorkers: 1000,
  seed: 0,
  overloadedAtPermille: 950,
  relievedBelowPermille: 800,
  ...DEFAULT_QUEUE,
  maxNodes: 1_000_000,
  backlogLimit: 1_000_000,
  rejectThreshold: null,
  reserveAfterMs: 30_000,
  maxBackoffMs: 60_000,
  jitterPermille: 0,
  keepEndedRuns: 100,
};

export const DEFAULT_STARVE_NODE_MS = 14_400_000;
