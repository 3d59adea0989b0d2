import { hash32 } from "../core/index.ts";
import { RISKS, taskBudget, taskSpecOf, type WireGraph, wireSpec } from "../graph/index.ts";
import type { RunSubmitted, SchedulerConfig } from "../ledger/index.ts";
import { STRATEGIES, type WorkerSpec } from "../placement/index.ts";
import { DEFAULT_CONFIG } from "../scheduler/index.ts";
import { type Incident, randomCharges, randomIncidents } from "./incidents.ts";
import type { Random } from "./random.ts";
import {
  type DataWeather,
  randomDataIncidents,
  randomDataRuns,
  randomDataWeather,
  withData,
} from "./random-data.ts";
import {
  CAPABILITIES,
  EXECUTORS,
  LIMITS,
  MOST_CPU,
  MOST_MEMORY,
  randomGraph,
  randomId,
  ZONES,
} from "./random-graph.ts";
import { type Growth, randomGrowth, randomGrowthIncidents, withGrowth } from "./random-growth.ts";
import { AGENTS, type PlannedTask, randomQueueConfig, randomTasks } from "./random-tasks.ts";

/** All that a seed decides ahead; what happens on the way is drawn as it comes, from the same seed. */
export interface Scenario {
  readonly config: SchedulerConfig;
  readonly workers: readonly PlannedWorker[];
  readonly runs: readonly PlannedRun[];
  readonly tasks: readonly PlannedTask[];
  readonly incidents: readonly Incident[];
  readonly weather: Weather;
  /** Undefined: nodes hand no data to each other. */
  readonly data: DataWeather | undefined;
  /** Undefined: no run grows. */
  readonly growth: Growth | undefined;
  /** From here on nothing goes wrong any more. */
  readonly calmAtMs: number;
  /** Joins when it is calm, and can run all that can be run at all. */
  readonly rescuer: WorkerSpec;
}

export interface PlannedWorker {
  readonly spec: WorkerSpec;
  readonly joinsAtMs: number;
}

export interface PlannedRun {
  readonly event: RunSubmitted;
  readonly atMs: number;
}

/** Chances of what may go wrong with any message or attempt until it is calm. */
export interface Weather {
  readonly lost: number;
  readonly duplicated: number;
  readonly slow: number;
  readonly failing: number;
  readonly stuck: number;
}

export function randomScenario(random: Random): Scenario {
  const stormMs = random.int(10, 90) * 1_000;
  const workers = randomWorkers(random.stream("workers"), stormMs);
  const data = randomDataWeather(random.stream("data"));
  const runs = randomRuns(random.stream("runs"), stormMs).map((run, number): PlannedRun => {
    const graph = data ? withData(random.stream(`data of ${number}`), run.event.graph) : run.event.graph;
    return { ...run, event: { ...run.event, graph } };
  });
  const withDataRuns = data ? [...runs, ...randomDataRuns(random.stream("data runs"), stormMs)] : runs;
  const growth = data && randomGrowth(random.stream("growth"));
  const allRuns = growth ? withDataRuns.map((run) => withGrowth(growth, run)) : withDataRuns;
  const tasks = withBudgets(random.stream("budgets"), randomTasks(random.stream("tasks"), stormMs));
  const config = randomConfig(random.stream("config"));
  return givingBack(random.stream("giving back"), {
    config,
    workers,
    runs: allRuns,
    tasks,
    incidents: [
      ...randomIncidents(random.stream("incidents"), {
        stormMs,
        workers: workers.length,
        runSizes: runs.map(({ event }) => event.graph.ids.length),
        tasks: tasks.length,
        config,
      }),
      ...randomCharges(random.stream("charges"), stormMs),
      ...(data ? randomDataIncidents(random.stream("data incidents"), stormMs, allRuns) : []),
      ...(growth ? randomGrowthIncidents(random.stream("growth incidents"), stormMs) : []),
    ],
    data,
    growth,
    weather: randomWeather(random.stream("weather")),
    calmAtMs: stormMs + 1_000,
    rescuer: {
      ...randomWorkerSpec(random, "rescuer"),
      zones: ZONES,
      executors: EXECUTORS,
      capabilities: CAPABILITIES,
      cpuMillicores: MOST_CPU,
      memoryBytes: MOST_MEMORY,
    },
  });
}

function randomConfig(random: Random): SchedulerConfig {
  return {
    ...DEFAULT_CONFIG,
    ...randomQueueConfig(random),
    strategy: random.pick(STRATEGIES),
    preferLocality: random.chance(0.4),
    maxQueuePerWorker: random.chance(0.3) ? 0 : random.int(0, 10),
    seed: random.int(0, 2 ** 31),
    backlogLimit: random.chance(0.25) ? random.int(5, 60) : DEFAULT_CONFIG.backlogLimit,
    rejectThreshold: random.chance(0.4) ? random.pick([0.1, 0.1, 0.25, 0.5, 1]) : null,
    reserveAfterMs: random.pick([0, 200, 2_000, 10_000, 3_600_000]),
    ...(random.chance(0.4) && { resources: { [random.pick(LIMITS)]: random.int(1, 6) } }),
    starveNodeMs: random.pick([0, 150, 2_000, 14_400_000]),
    maxBackoffMs: random.pick([500, 5_000, 60_000]),
    keepLostWorkers: random.chance(0.5) ? random.int(0, 1) : DEFAULT_CONFIG.keepLostWorkers,
    keepEndedRuns: random.chance(0.3) ? random.int(0, 2) : 100,
    ...randomSpeculation(random.stream("speculation")),
    ...randomCache(random.stream("cache")),
  };
}

function randomCache(random: Random): Pick<SchedulerConfig, "cacheBytes"> {
  return random.chance(0.3) ? {} : { cacheBytes: random.pick([2 ** 15, 2 ** 21, 2 ** 26, 2 ** 30]) };
}

function randomSpeculation(random: Random): Pick<SchedulerConfig, "speculation"> {
  if (random.chance(0.5)) return {};
  const defaultParallelism = random.int(1, 4);
  return {
    speculation: {
      enabled: random.chance(0.9),
      defaultParallelism,
      maxParallelism: random.int(defaultParallelism, 5),
      autoTriggerOnCriticalPath: random.chance(0.7),
      autoTriggerRiskLevels: random.some(RISKS, 0.5),
      forceSpeculate: random.chance(0.6),
    },
  };
}

/** Some nodes ask for alternatives, some have a budget. */
function withAsking(random: Random, graph: WireGraph): WireGraph {
  const specs = graph.specs.map((spec) => {
    const speculate = random.chance(0.2);
    const budget = random.chance(0.3) ? taskBudget({}, true) : [];
    return wireSpec({ ...taskSpecOf(spec), speculate, budget });
  });
  return { ...graph, specs };
}

function withBudgets(random: Random, tasks: readonly PlannedTask[]): PlannedTask[] {
  return tasks.map((task) => {
    if (!random.chance(0.3)) return task;
    const spec = wireSpec({ ...taskSpecOf(task.event.spec), budget: taskBudget({}, true) });
    return { ...task, event: { ...task.event, spec } };
  });
}

function randomWeather(random: Random): Weather {
  const rough = random.chance(0.7);
  return {
    lost: rough ? random.int(0, 8) / 100 : 0,
    duplicated: rough ? random.int(0, 8) / 100 : 0,
    slow: rough ? random.int(0, 10) / 100 : 0,
    failing: random.pick([0, 0.05, 0.2, 0.5]),
    stuck: random.pick([0, 0, 0.2]),
  };
}

function randomWorkers(random: Random, stormMs: number): PlannedWorker[] {
  const count = random.chance(0.1) ? random.int(30, 40) : random.int(1, 12);
  const ids = new Set<string>();
  while (ids.size < count) ids.add(`w${randomId(random, random.int(0, 99))}`);
  return [...ids].map((id) => ({
    spec: randomWorkerSpec(random, id),
    joinsAtMs: random.chance(0.7) ? random.int(0, 20) : random.int(0, stormMs),
  }));
}

/** In some seeds most workers give back what they have not begun when they are asked, and have room for queues. */
function givingBack(random: Random, scenario: Scenario): Scenario {
  if (random.chance(0.65)) return scenario;
  const workers = scenario.workers.map(({ spec, joinsAtMs }) => {
    const { cpuMillicores, memoryBytes, slots } = spec;
    const roomy = {
      cpuMillicores: 4 * cpuMillicores,
      memoryBytes: 4 * memoryBytes,
      slots: Math.ceil(slots / 2),
    };
    return {
      joinsAtMs,
      spec: { ...spec, ...roomy, ...(random.chance(0.85) && { givesBack: true as const }) },
    };
  });
  const maxQueuePerWorker = random.int(1, 12);
  return { ...scenario, workers, config: { ...scenario.config, maxQueuePerWorker } };
}

export function randomWorkerSpec(random: Random, id: string): WorkerSpec {
  const generous = random.chance(0.6);
  return {
    id,
    endpoint: "",
    ...roomForIo(id),
    zone: random.pick(ZONES),
    zones: random.some(ZONES, generous ? 0.9 : 0.3),
    executors: random.some(EXECUTORS, generous ? 0.9 : 0.6),
    capabilities: random.some(CAPABILITIES, generous ? 0.8 : 0.4),
    cpuMillicores: random.pick([500, 1_000, 2_000, 4_000, 8_000]),
    memoryBytes: random.pick([256, 1_024, 2_048, 8_192]) * 2 ** 20,
    slots: random.int(1, 4),
  };
}

function randomRuns(random: Random, stormMs: number): PlannedRun[] {
  const troubled = random.chance(0.25);
  return Array.from({ length: random.int(1, 5) }, (_, number): PlannedRun => {
    const runId = `run-${randomId(random, number)}`;
    return {
      atMs: random.chance(0.3) ? random.int(30, 40) : random.int(0, Math.floor(stormMs * 0.8)),
      event: {
        kind: "RunSubmitted",
        runId,
        name: runId,
        agent: random.pick(AGENTS),
        zone: random.pick(ZONES),
        onFailure: random.chance(0.5) ? "continue" : "cancel",
        graph: withAsking(
          random.stream(`asking ${number}`),
          randomGraph(random, {
            unsatisfiable: troubled ? 0.05 : 0,
            held: troubled ? 0.05 : 0,
            maxNodes: 60,
          }),
        ),
      },
    };
  });
}

/** Drawn from no stream: all else is what it was before there was such room. */
function roomForIo(id: string): Pick<WorkerSpec, "ioSlots"> {
  const drawn = hash32(`io ${id}`, 0) % 6;
  return drawn < 3 ? { ioSlots: drawn + 1 } : {};
}
