import type { SchedulerConfig } from "../ledger/index.ts";
import { STRATEGIES } from "../placement/index.ts";
import type { Random } from "./random.ts";

/** Something that is done to the system at a time. Workers and runs are named by their place in the plan. */
export type Incident = { readonly atMs: number } & (
  | { readonly type: "crash" | "leave" | "drain"; readonly worker: number; readonly backAfterMs: number }
  | { readonly type: "hang" | "cut" | "overload"; readonly worker: number; readonly forMs: number }
  | { readonly type: "forget"; readonly worker: number }
  | { readonly type: "cancel run" | "submit again"; readonly run: number }
  | { readonly type: "cancel node"; readonly run: number; readonly node: number }
  /** Stimuli about what does not exist; `choice` says which. */
  | { readonly type: "nonsense"; readonly run: number; readonly choice: number }
  | { readonly type: "restart server"; readonly inCommit: boolean }
  | { readonly type: "jump clock"; readonly byMs: number }
  | { readonly type: "reconfigure"; readonly config: SchedulerConfig }
);

/** The commoner ones more often. */
const TYPES = [
  "crash",
  "crash",
  "hang",
  "hang",
  "cut",
  "overload",
  "overload",
  "drain",
  "leave",
  "forget",
  "forget",
  "cancel run",
  "cancel node",
  "cancel node",
  "cancel node",
  "submit again",
  "restart server",
  "jump clock",
  "reconfigure",
  "nonsense",
] as const;

/** What a scenario has that incidents can befall. */
export interface Targets {
  readonly stormMs: number;
  readonly workers: number;
  readonly runSizes: readonly number[];
  readonly config: SchedulerConfig;
}

export function randomIncidents(random: Random, targets: Targets): Incident[] {
  const count = random.chance(0.1) ? 0 : random.int(2, 30);
  return Array.from({ length: count }, () => randomIncident(random, targets));
}

function randomIncident(random: Random, { stormMs, workers, runSizes, config }: Targets): Incident {
  const atMs = random.int(100, stormMs);
  const worker = random.int(0, workers - 1);
  const run = random.int(0, runSizes.length - 1);
  const type = random.pick(TYPES);
  switch (type) {
    case "crash":
    case "leave":
    case "drain":
      return { atMs, type, worker, backAfterMs: random.int(100, 20_000) };
    case "hang":
    case "cut":
    case "overload":
      return { atMs, type, worker, forMs: random.int(500, 25_000) };
    case "forget":
      return { atMs, type, worker };
    case "cancel run":
    case "submit again":
      return { atMs, type, run };
    case "cancel node":
      return { atMs, type, run, node: random.int(0, (runSizes[run] as number) - 1) };
    case "nonsense":
      return { atMs, type, run, choice: random.int(0, 1_000) };
    case "restart server":
      return { atMs, type, inCommit: random.chance(0.6) };
    case "jump clock":
      return { atMs, type, byMs: random.int(-60_000, 60_000) };
    case "reconfigure":
      return { atMs, type, config: changed(random, config) };
  }
}

function changed(random: Random, config: SchedulerConfig): SchedulerConfig {
  return {
    ...config,
    strategy: random.pick(STRATEGIES),
    preferLocality: random.chance(0.5),
    maxQueuePerWorker: random.int(0, 10),
    reserveAfterMs: random.pick([0, 2_000, 3_600_000]),
  };
}
