import { type Priority, wireSpec } from "../graph/index.ts";
import type { LimitConfigured, SchedulerConfig, TaskSubmitted } from "../ledger/index.ts";
import type { Random } from "./random.ts";
import { EXECUTORS, LIMITS, randomId, randomSpec, ZONES } from "./random-graph.ts";

export const AGENTS = ["ann", "Özil", "bo"] as const;

/** A task of no run, and how often its client asks for it. */
export interface PlannedTask {
  readonly event: TaskSubmitted;
  readonly atMs: number;
  /** The same key means the same task, however often it is sent. Undefined: sent until it is answered, and no more. */
  readonly key: string | undefined;
  readonly keepsId: boolean;
  /** When it is sent again without need, after the first time. */
  readonly againAfterMs: readonly number[];
}

/** In what order the waiting go, and under which conditions, in times that a storm is long enough for. */
export function randomQueueConfig(random: Random): Partial<SchedulerConfig> {
  return {
    order: random.pick(["graph", "hrrn", "hrrn", "classic"]),
    boostTierMicros: random.pick([10_000, 1]),
    maxBoostTiers: random.int(0, 4),
    ageEveryMs: random.pick([1_000, 5_000, 120_000]),
    ageStepMs: random.pick([1, 700, 60_000]),
    maxWaitMs: random.pick([500, 8_000, 600_000]),
    starveBackgroundMs: random.pick([400, 6_000, 900_000]),
    starveBatchMs: random.pick([null, 900, 12_000]),
    deadlineLift: random.pick([0, 0.5, 2, 10]),
    costWindowMs: random.pick([600, 9_000, 3_600_000]),
    costThresholdMicros: random.pick([null, 0, 500, 20_000]),
    fairShare: random.pick([null, null, 1, 2, 5]),
    overLimit: random.chance(0.2) ? "reject" : "wait",
    credits: random.chance(0.5),
    jitterPermille: random.pick([0, 0, 250]),
    ...(random.chance(0.2) && {
      submitRate: random.int(1, 3),
      submitRatePeriodMs: random.pick([900, 20_000]),
    }),
  };
}

export function randomTasks(random: Random, stormMs: number): PlannedTask[] {
  const count = random.chance(0.15) ? 0 : random.chance(0.15) ? random.int(30, 90) : random.int(1, 25);
  const templates = Array.from({ length: random.int(1, 4) }, () => randomSpec(random));
  return Array.from({ length: count }, (_, number): PlannedTask => {
    const atMs = random.chance(0.3) ? random.int(30, 60) : random.int(0, Math.floor(stormMs * 0.8));
    const spec = random.pick(templates);
    const isLimited = random.chance(0.5);
    const varied = {
      ...spec,
      priority: random.int(0, 4) as Priority,
      estimateMs: random.pick([spec.estimateMs, 1, 50, 3_000]),
      limits: isLimited ? spec.limits : [],
      amounts: isLimited ? spec.amounts : [],
    };
    const isKeyed = random.chance(0.5);
    return {
      atMs,
      key: isKeyed ? `key ${number}` : undefined,
      keepsId: isKeyed && random.chance(0.3),
      againAfterMs: isKeyed ? randomRepetitions(random) : [],
      event: {
        kind: "TaskSubmitted",
        id: `task-${randomId(random, number)}`,
        agent: random.pick(AGENTS),
        zone: random.pick(ZONES),
        spec: wireSpec(varied),
        requestState: random.pick(["io_wait", "compute", "tool_call", "idle", "pending"]),
        boostMicros: random.pick([0, 0, 1, 9_999, 10_000, 25_000]),
        deadline: random.chance(0.3) ? atMs + random.pick([0, 5, 700, 5_000, 30_000]) : -1,
        runAt: random.chance(0.2) ? atMs + random.pick([1, 300, 4_000, 15_000]) : -1,
        requestHash: "",
        attempts: 0,
      },
    };
  });
}

/** In the same moment, before the answer, after it, and long after. */
function randomRepetitions(random: Random): number[] {
  const count = random.pick([0, 0, 1, 1, 2, 4]);
  return Array.from({ length: count }, () => random.pick([0, 1, 5, 50, 3_000, 20_000]));
}

export function randomLimit(random: Random): LimitConfigured {
  const rated = random.chance(0.6);
  return {
    kind: "LimitConfigured",
    zone: random.pick(ZONES),
    name: random.pick(LIMITS),
    concurrency: random.chance(0.6) ? random.int(0, 3) : null,
    rateCount: rated ? random.int(1, 5) : null,
    ratePeriodMs: rated ? random.pick([1, 97, 1_000, 7_000, 60_000]) : 1,
  };
}

/** An executor, or "" for all of a zone. */
export function randomQueue(random: Random): { readonly zone: string; readonly executor: string } {
  return {
    zone: random.pick(ZONES),
    executor: random.chance(0.3) ? "" : random.pick(EXECUTORS),
  };
}
