import { randomInt } from "node:crypto";
import { availableParallelism } from "node:os";
import { type Budget, readBudget, UNLIMITED } from "./budget.ts";
import { RuntimeError } from "./errors.ts";
import type { KernelSettings } from "./kernel.ts";
import type { Observer } from "./observer.ts";
import { PROFILES, type ProfileName } from "./profiles.ts";
import type { SimulationSettings, Victims } from "./simulation.ts";
import { MOST_PROCESSORS } from "./threads/memory.ts";
import type { Recording } from "./threads/recording.ts";

export interface RuntimeOptions {
  readonly profile?: ProfileName;
  /**
   * How many processors there are, by default as many as there are cores. Deterministic, they are simulated; else each is a
   * thread, the first this one. Other threads run what was spawned from a `portable` function, and are started when that
   * first is, unless their number is given.
   */
  readonly processors?: number;
  /** Of each other thread; more ends it. */
  readonly threadHeapMb?: number;
  /** Decides the order of a deterministic runtime, together with program, budgets and number of processors. */
  readonly seed?: number;
  /** For all that runs here; by default without limit. */
  readonly budget?: Partial<Budget>;
  /** One thread simulates the processors on a virtual clock, and the same program always runs in the same order. */
  readonly deterministic?: boolean;
  readonly victims?: Victims;
  readonly stealing?: boolean;
  readonly yieldInterval?: number;
  readonly graceMs?: number;
  readonly maxDepth?: number;
  readonly patienceMs?: number;
  readonly observer?: Observer;
  /** Writes down what threads steal from each other and what arrives when, for `recording()`. It makes them slower. */
  readonly record?: boolean;
  /** Runs a program once more as it was recorded, on one thread; its settings are those of the recording. */
  readonly replay?: Recording;
  /** Keeps slices and steals for `trace()`: so many, or 100,000. */
  readonly trace?: boolean | number;
}

export function readHeap({ threadHeapMb }: RuntimeOptions): number | undefined {
  return threadHeapMb === undefined ? undefined : readWhole(threadHeapMb, 0, "threadHeapMb", 8, 65_536);
}

export function readOrder(options: RuntimeOptions, seed: number): SimulationSettings {
  return {
    seed,
    victims: readVictims(options.victims),
    stealing: options.stealing ?? true,
    patienceMs: readWhole(options.patienceMs, 10_000, "patienceMs", 0, 2 ** 31 - 1),
  };
}

export function readSettings(options: RuntimeOptions, observer: Observer): KernelSettings {
  const name = options.profile ?? "service";
  const profile = Object.hasOwn(PROFILES, name) ? PROFILES[name] : undefined;
  if (profile === undefined)
    throw new RuntimeError(
      "InvalidArgument",
      `profile is ${String(options.profile)}; there are ${Object.keys(PROFILES).join(", ")}`,
    );
  const processors = readWhole(
    options.processors,
    Math.min(availableParallelism(), MOST_PROCESSORS),
    "processors",
    1,
    options.deterministic ? 65_535 : MOST_PROCESSORS,
  );
  return {
    profile,
    processors,
    budget: readBudget(options.budget, UNLIMITED, "budget"),
    yieldInterval: readWhole(options.yieldInterval, profile.yieldInterval, "yieldInterval", 1, 65_534),
    graceMs: readWhole(options.graceMs, 1_000, "graceMs", 0, 2 ** 31 - 1),
    maxDepth: readWhole(options.maxDepth, 10_000, "maxDepth", 1, 65_535),
    seed: readWhole(options.seed, options.deterministic ? 1 : randomInt(2 ** 32), "seed", 0, 0xffff_ffff),
    observer,
  };
}

function readWhole(
  value: number | undefined,
  byDefault: number,
  name: string,
  least: number,
  most: number,
): number {
  if (value === undefined) return byDefault;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RuntimeError(
    "InvalidArgument",
    `${name} is ${String(value)}; it is a whole number from ${least} to ${most}`,
  );
}

/** How many events are kept. */
export function readTrace(trace: true | number): number {
  return readWhole(trace === true ? undefined : trace, 100_000, "trace", 1, 2 ** 31 - 1);
}

function readVictims(victims: Victims | undefined): Victims {
  const known: readonly Victims[] = ["random", "round-robin", "least-loaded"];
  if (victims === undefined) return "random";
  if (known.includes(victims)) return victims;
  throw new RuntimeError("InvalidArgument", `victims is ${String(victims)}; there are ${known.join(", ")}`);
}
