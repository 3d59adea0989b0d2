import type { Input, SchedulerConfig } from "../ledger/index.ts";
import { STRATEGIES } from "../placement/index.ts";
import type { Random } from "./random.ts";
import { LIMITS, ZONES } from "./random-graph.ts";
import { AGENTS, randomLimit, randomQueue, randomQueueConfig } from "./random-tasks.ts";
import type { Fate } from "./sim-store.ts";

/** Something that is done to the system at a time. Workers and runs are named by their place in the plan. */
export type Incident = { readonly atMs: number } & (
  | { readonly type: "crash" | "leave" | "drain"; readonly worker: number; readonly backAfterMs: number }
  | { readonly type: "hang" | "cut" | "overload"; readonly worker: number; readonly forMs: number }
  | { readonly type: "forget"; readonly worker: number }
  | { readonly type: "cancel run" | "submit again"; readonly run: number }
  | { readonly type: "cancel node"; readonly run: number; readonly node: number }
  /** Stimuli about what does not exist; `choice` says which. */
  | { readonly type: "nonsense"; readonly run: number; readonly choice: number }
  /** Undefined: at once, whatever it is doing. */
  | { readonly type: "restart server"; readonly fate: Fate | undefined }
  | { readonly type: "take over" }
  | { readonly type: "lose keys"; readonly forMs: number }
  | { readonly type: "jump clock"; readonly byMs: number }
  | { readonly type: "reconfigure"; readonly config: SchedulerConfig }
  | { readonly type: "cancel task" | "retry task"; readonly task: number }
  /** Something is said about a budget; `choice` says what. */
  | { readonly type: "charge"; readonly choice: number }
  /** Something is said about results; `choice` says what. */
  | { readonly type: "data"; readonly choice: number }
  /** An added run, or one of its nodes; `choice` says which. */
  | { readonly type: "cancel added"; readonly choice: number }
  | { readonly type: "crash holder"; readonly choice: number; readonly backAfterMs: number }
  /** What an operator says. */
  | { readonly type: "order"; readonly order: Order }
);

type Order = Extract<
  Input,
  {
    kind:
      | "AgentConfigured"
      | "ZoneConfigured"
      | "LimitConfigured"
      | "CreditsGranted"
      | "QueuePaused"
      | "QueueResumed";
  }
>;

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
  "restart server",
  "take over",
  "lose keys",
  "jump clock",
  "reconfigure",
  "nonsense",
  "cancel task",
  "cancel task",
  "retry task",
  "retry task",
  "order",
  "order",
  "order",
  "order",
  "order",
] as const;

const FATES = [
  undefined,
  "crash before commit",
  "crash in commit",
  "crash after commit",
  "store failed",
] as const;

/** What a scenario has that incidents can befall. */
export interface Targets {
  readonly stormMs: number;
  readonly workers: number;
  readonly runSizes: readonly number[];
  readonly tasks: number;
  readonly config: SchedulerConfig;
}

export function randomIncidents(random: Random, targets: Targets): Incident[] {
  const count = random.chance(0.1) ? 0 : random.int(2, 40);
  const incidents = Array.from({ length: count }, () => randomIncident(random, targets));
  return [...randomSettings(random, targets.stormMs), ...incidents];
}

function randomIncident(random: Random, { stormMs, workers, runSizes, tasks, config }: Targets): Incident {
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
      return { atMs, type, fate: random.pick(FATES) };
    case "take over":
      return { atMs, type };
    case "lose keys":
      return { atMs, type, forMs: random.int(10, 6_000) };
    case "jump clock":
      return { atMs, type, byMs: random.int(-60_000, 60_000) };
    case "reconfigure":
      return { atMs, type, config: changed(random, config) };
    case "cancel task":
    case "retry task":
      return { atMs, type, task: random.int(0, Math.max(0, tasks - 1)) };
    case "order":
      return { atMs: random.chance(0.3) ? 0 : atMs, type, order: randomOrder(random) };
  }
}

/** What is set before anything happens. */
function randomSettings(random: Random, stormMs: number): Incident[] {
  const orders: Order[] = Array.from({ length: random.int(0, 4) }, () => randomLimit(random));
  if (random.chance(0.5)) {
    for (const zone of ZONES) {
      for (const agent of AGENTS)
        orders.push({ kind: "CreditsGranted", zone, agent, micros: random.int(1, 90_000) });
    }
  }
  const settings = orders.map((order): Incident => ({ atMs: random.int(0, 50), type: "order", order }));
  return random.chance(0.3) ? [...settings, ...restlessLimit(random, stormMs)] : settings;
}

/** A rate that is set again and again, also while it is used up. */
function restlessLimit(random: Random, stormMs: number): Incident[] {
  const { kind, zone, name } = randomLimit(random);
  return Array.from({ length: 12 }, () => {
    const rate = { rateCount: random.int(1, 3), ratePeriodMs: random.pick([900, 9_000, 40_000]) };
    const order = { kind, zone, name, concurrency: null, ...rate };
    return { atMs: random.int(0, stormMs), type: "order", order };
  });
}

export function randomCharges(random: Random, stormMs: number): Incident[] {
  return Array.from({ length: random.int(0, 40) }, () => ({
    type: "charge",
    atMs: random.int(0, stormMs),
    choice: random.int(0, 2 ** 30),
  }));
}

function changed(random: Random, config: SchedulerConfig): SchedulerConfig {
  return {
    ...config,
    ...(random.chance(0.6) ? randomQueueConfig(random) : {}),
    strategy: random.pick(STRATEGIES),
    preferLocality: random.chance(0.5),
    maxQueuePerWorker: random.int(0, 10),
    reserveAfterMs: random.pick([0, 2_000, 3_600_000]),
    ...(random.chance(0.5) && { resources: { [random.pick(LIMITS)]: random.int(1, 5) } }),
    starveNodeMs: random.pick([0, 700, 3_600_000]),
  };
}

/** How fast an agent may submit, with its share before it, which has to be said then. */
function rated(random: Random, max: number | null | undefined) {
  const rateCount = random.pick([1, 2, 3, null]);
  return {
    max: max === undefined ? -1 : max,
    rateCount,
    ...(rateCount !== null && { ratePeriodMs: random.pick([1, 900, 9_000]) }),
  };
}

function randomOrder(random: Random): Order {
  const zone = random.pick(ZONES);
  const agent = random.pick(AGENTS);
  const max = random.pick([0, 1, 2, null, undefined]);
  const given = max === undefined ? {} : { max };
  switch (random.int(0, 7)) {
    case 0:
      return { kind: "AgentConfigured", zone, agent, ...(random.chance(0.5) ? rated(random, max) : given) };
    case 1:
      return { kind: "ZoneConfigured", zone, ...given };
    case 2:
    case 3:
      return { kind: "CreditsGranted", zone, agent, micros: random.pick([1, 10_000, 50_000]) };
    case 4:
      return { kind: "QueuePaused", ...randomQueue(random) };
    case 5:
      return { kind: "QueueResumed", ...randomQueue(random) };
    default:
      return randomLimit(random);
  }
}
