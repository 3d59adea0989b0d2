import { hash32 } from "../core/index.ts";
import {
  type NodeSpec,
  type TaskSpec,
  taskSpecOf,
  type WireGraph,
  type WireSpec,
  wireGraph,
  wireSpec,
} from "../graph/index.ts";
import type { Incident } from "./incidents.ts";
import { type AttemptName, nameOf } from "./messages.ts";
import type { Random } from "./random.ts";
import { CAPABILITIES, randomId, randomShape, randomSpec, ZONES } from "./random-graph.ts";
import { AGENTS } from "./random-tasks.ts";
import type { PlannedRun } from "./scenario.ts";

/**
 * Whether and how nodes hand data to each other under a seed. All of it is drawn from streams of its own: seeds without
 * data are what they were before there was any.
 */
export interface DataWeather {
  /** Which attempts hold what they make, and which go wrong, follows from this and their names. */
  readonly salt: number;
  /** Of a thousand nodes, those whose results can never be read, and those that kill their worker. */
  readonly rotten: number;
  readonly poisonous: number;
}

export function randomDataWeather(random: Random): DataWeather | undefined {
  if (!random.chance(0.5)) return undefined;
  const isRough = random.chance(0.5);
  return {
    salt: random.int(0, 2 ** 31),
    rotten: isRough ? random.pick([30, 100]) : 0,
    poisonous: isRough ? random.pick([0, 10, 40]) : 0,
  };
}

/** Most of what nodes need they get the results of, some results are kept, and some may be used again. */
export function withData(random: Random, graph: WireGraph, always = false): WireGraph {
  if (!always && random.chance(0.25)) return graph;
  const share = random.pick([0.5, 0.9, 1]);
  const needs: number[][] = [];
  const inputs: number[] = [];
  for (const all of graph.needs) {
    const got = random.some(all, share);
    needs.push([...got, ...all.filter((need) => !got.includes(need))]);
    inputs.push(got.length);
  }
  const isCached = random.chance(0.4);
  const specs = graph.specs.map((spec, at) =>
    sometimesIo(
      graph,
      at,
      sometimesMeta(graph, at, isCached && random.chance(0.5) ? cached(random, spec) : spec),
    ),
  );
  const requests = graph.ids.map(() => (isCached ? random.pick(["x", "y"]) : ""));
  const keep = graph.ids.flatMap((_, node) => (random.chance(0.15) ? [node] : []));
  return { ...graph, needs, specs, requests, inputs, keep };
}

/** Runs that are all about data: of small nodes that many workers can run, so that much of it is made and lost. */
export function randomDataRuns(random: Random, stormMs: number): PlannedRun[] {
  const runs = Array.from({ length: random.int(1, 3) }, (_, number) =>
    randomDataRun(random, stormMs, number),
  );
  if (random.chance(0.5)) return runs;
  // The same once more, of which much should be known by then.
  const { event, atMs } = random.pick(runs);
  const again = { ...event, runId: `${event.runId} again`, name: event.name };
  return [...runs, { event: again, atMs: atMs + random.pick([3_000, 20_000]) }];
}

function randomDataRun(random: Random, stormMs: number, number: number): PlannedRun {
  const runId = `data-${randomId(random, number)}`;
  const size = random.int(4, 40);
  const templates = Array.from({ length: random.int(1, 3) }, () => smallSpec(random));
  const ids = Array.from({ length: size }, (_, index) => randomId(random, index));
  const needs = randomShape(random, size, random.pick(["chain", "layers", "random", "tree", "fan"]));
  const nodes = ids.map((id, index): NodeSpec => {
    const before = (needs[index] as number[]).map((need) => ids[need] as string);
    const task = random.pick(templates);
    return { id, needs: before, task, requestHash: "", done: false };
  });
  return {
    atMs: random.int(0, Math.floor(stormMs * 0.7)),
    event: {
      kind: "RunSubmitted",
      runId,
      name: runId,
      agent: random.pick(AGENTS),
      zone: random.pick(ZONES),
      onFailure: random.chance(0.7) ? "continue" : "cancel",
      graph: withData(random, wireGraph(nodes), true),
    },
  };
}

export function smallSpec(random: Random): TaskSpec {
  return {
    ...randomSpec(random),
    cpuMillicores: random.pick([0, 100, 250, 500]),
    memoryBytes: random.pick([0, 64]) * 2 ** 20,
    capabilities: random.chance(0.2) ? [random.pick(CAPABILITIES)] : [],
    maxAttempts: random.pick([1, 3, 5]),
    timeoutMs: random.pick([0, 0, 3_000]),
    limits: [],
    amounts: [],
  };
}

/** Of every seven specifications one, drawn from no stream: all else is what it was before there were such nodes. */
function sometimesMeta({ ids }: WireGraph, at: number, spec: WireSpec): WireSpec {
  if (hash32(`meta ${ids[0]}`, at) % 7 > 0) return spec;
  return wireSpec({ ...taskSpecOf(spec), meta: true });
}

function sometimesIo({ ids }: WireGraph, at: number, spec: WireSpec): WireSpec {
  if (hash32(`io ${ids[0]}`, at) % 4 > 0) return spec;
  return wireSpec({ ...taskSpecOf(spec), io: true });
}

function cached(random: Random, spec: WireSpec): WireSpec {
  return wireSpec({ ...taskSpecOf(spec), cache: random.pick(["1", "2"]) });
}

export function randomDataIncidents(
  random: Random,
  stormMs: number,
  runs: readonly PlannedRun[],
): Incident[] {
  const atMs = () => random.int(0, stormMs);
  const choice = () => random.int(0, 2 ** 30);
  const run = random.int(0, runs.length - 1);
  const size = runs[run]?.event.graph.ids.length ?? 1;
  return [
    ...Array.from(
      { length: random.int(0, 12) },
      () => ({ type: "data", atMs: atMs(), choice: choice() }) as const,
    ),
    ...Array.from(
      { length: random.int(0, 8) },
      () =>
        ({
          type: "crash holder",
          atMs: atMs(),
          choice: choice(),
          backAfterMs: random.int(50, 5_000),
        }) as const,
    ),
    ...Array.from(
      { length: random.int(0, 3) },
      () => ({ type: "cancel node", atMs: atMs(), run, node: random.int(0, size - 1) }) as const,
    ),
  ];
}

type NodeName = Omit<AttemptName, "attempt">;

/** What an attempt makes is large enough to stay on its worker: so many bytes. Undefined: it is not. */
export function bytesHeld({ salt }: DataWeather, name: AttemptName): number | undefined {
  const chance = hash32(nameOf(name), salt);
  return chance % 3 === 0 ? undefined : ([20_000, 2 ** 20, 2 ** 25][(chance >>> 8) % 3] as number);
}

export function isRotten({ salt, rotten }: DataWeather, { run, node }: NodeName): boolean {
  return hash32(`rotten ${run}/${node}`, salt) % 1000 < rotten;
}

export function isPoisonous({ salt, poisonous }: DataWeather, { run, node }: NodeName): boolean {
  return hash32(`poisonous ${run}/${node}`, salt) % 1000 < poisonous;
}

/** The nodes of some runs take a short time, so that others are given to their workers ahead. */
export function isBrisk({ salt }: DataWeather, { run }: NodeName): boolean {
  return hash32(`brisk ${run}`, salt) % 2 === 0;
}
