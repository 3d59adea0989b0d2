import { setImmediate } from "node:timers/promises";
import type { SpeculationSettings } from "../graph/index.ts";
import {
  assemble,
  compile,
  type Found,
  type Levels,
  levelsOf,
  lowerBound,
  maySpeculate,
  Online,
  ParallelScheduler,
  type Problem,
  type Project,
  type Schedule,
  Search,
  type SpeculatedProject,
  speculate,
  wholeOrder,
  withAlternatives,
} from "../plan/index.ts";
import { countOf } from "../words/index.ts";
import type { PlanReport } from "./plan-report.ts";
import { formatTicks } from "./plan-words.ts";
import { StatusLine } from "./status-line.ts";

export interface PlanningOptions {
  readonly mode: "online" | "plan";
  readonly seed: number;
  /** How long a plan may take, unless a number of schedules is given; the first schedule is made however long it takes. */
  readonly effortMs: number;
  readonly schedules: number | undefined;
  readonly speculation: SpeculationSettings;
  readonly starvationMs: number;
}

/** How long others, such as signals, may have to wait. */
const TURN_MS = 50;
/** A search begins with what the live scheduler would do, where that takes a moment only. */
const MOST_ONLINE_FIRST = 5_000;

/** Makes plans, until it is told to stop: then the best so far is the plan. */
export class Planner {
  readonly #options: PlanningOptions;
  readonly #status = new StatusLine();
  #isStopped = false;
  /** The first plan's effort counts from the start of the process: reading a large file is part of it. */
  #effortFromMs = 0;

  constructor(options: PlanningOptions) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async plan(original: Project, capacities: Readonly<Record<string, number>>): Promise<PlanReport> {
    const compiledFromMs = performance.now();
    this.#status.show(() => `planning ${countOf(original.activities.length, "node")}`);
    const { project, speculated, known } = await this.#speculate(original, capacities);
    const compiled = compile(project, capacities);
    // To say and to write what a plan comes to takes about twice as long as this did.
    const restMs = 2 * (performance.now() - compiledFromMs);
    const deadlineMs = this.#effortFromMs + this.#options.effortMs - restMs;
    const hasTwo = speculated.length > 0;
    const firstMs = hasTwo ? (performance.now() + deadlineMs) / 2 : deadlineMs;
    try {
      const found = await this.#find(project, compiled.problem, firstMs, known);
      const makespanWithout = hasTwo
        ? await this.#without(original, capacities, found, deadlineMs)
        : undefined;
      const plan = assemble(project, compiled, { ...found, speculated });
      const { mode, seed, speculation } = this.#options;
      const ids = new Set(speculated.map(({ id }) => id));
      const others = { ...original, activities: original.activities.filter(({ id }) => !ids.has(id)) };
      const mayDecideLater = mode === "plan" && maySpeculate(others, speculation);
      return { project, plan, capacities, speculated, makespanWithout, mayDecideLater, seed };
    } finally {
      this.#status.clear();
      this.#effortFromMs = performance.now();
    }
  }

  /**
   * What is tried in several alternatives, and what starts when where that is known with it: the live scheduler decides on
   * each node when it is about to start, a search only on what can start now.
   */
  async #speculate(
    original: Project,
    capacities: Readonly<Record<string, number>>,
  ): Promise<SpeculatedProject & { readonly known?: Schedule }> {
    const { mode, speculation } = this.#options;
    if (mode === "plan") return speculate(original, capacities, speculation);
    if (!maySpeculate(original, speculation)) return { project: original, speculated: [] };
    const online = new Online(original, compile(original, capacities, "used").problem);
    if (!(await this.#play(original, online, speculation))) return { project: original, speculated: [] };
    const { speculated } = online;
    return { project: withAlternatives(original, speculated), speculated, known: online };
  }

  /** How long all would take if nothing were tried in several alternatives; a search is never longer than with them. */
  async #without(
    project: Project,
    capacities: Readonly<Record<string, number>>,
    { starts }: Found,
    deadlineMs: number,
  ): Promise<number> {
    const { problem } = compile(project, capacities);
    const known = { starts, makespan: makespanOf(problem, starts) };
    const isSearch = this.#options.mode === "plan";
    const found = await this.#find(project, problem, deadlineMs, isSearch ? known : undefined);
    return makespanOf(problem, found.starts);
  }

  async #find(project: Project, problem: Problem, deadlineMs: number, given?: Schedule): Promise<Found> {
    const { mode, seed, schedules } = this.#options;
    const levels = levelsOf(problem);
    const bound = lowerBound(problem, levels);
    if (mode === "online") {
      const { starts } = given ?? (await this.#online(project, problem, levels));
      return { mode, starts, bound, schedules: 1 };
    }
    const isQuick = problem.size <= MOST_ONLINE_FIRST;
    const known = given ?? (isQuick ? await this.#online(project, problem, levels) : undefined);
    const search = new Search(problem, seed, known);
    await this.#pump(search.steps(schedules ?? Number.POSITIVE_INFINITY, bound.length), {
      // There must be one to end with.
      mayStop: () => Number.isFinite(search.best.makespan),
      deadlineMs: schedules === undefined ? deadlineMs : Number.POSITIVE_INFINITY,
      tell: () => statusOf(project, search.best.makespan, bound.length, search.schedules),
    });
    return { mode, starts: search.best.starts, bound, schedules: search.schedules };
  }

  /** What the live scheduler would do; where it was stopped before that was known, something close to it. */
  async #online(project: Project, problem: Problem, levels: Levels): Promise<Schedule> {
    const online = new Online(project, problem);
    if (await this.#play(project, online)) return online;
    const close = new ParallelScheduler(problem);
    close.schedule(wholeOrder(project, problem, levels));
    return close;
  }

  /** False if it was stopped before the end. */
  async #play({ unit }: Project, online: Online, speculation?: SpeculationSettings): Promise<boolean> {
    return await this.#pump(online.steps(this.#options.starvationMs, speculation), {
      mayStop: () => true,
      deadlineMs: Number.POSITIVE_INFINITY,
      tell: () => `planning: ${formatTicks(online.makespan, unit)} so far`,
    });
  }

  /** Lets others have their turn meanwhile. False if it was stopped before it ended. */
  async #pump(steps: Generator<void, void>, { mayStop, deadlineMs, tell }: Pumping): Promise<boolean> {
    let turnMs = performance.now();
    for (const _ of steps) {
      const nowMs = performance.now();
      if ((this.#isStopped || nowMs >= deadlineMs) && mayStop()) return false;
      if (nowMs - turnMs < TURN_MS) continue;
      this.#status.show(tell);
      await setImmediate();
      turnMs = performance.now();
    }
    return true;
  }
}

function makespanOf({ durations }: Problem, starts: Float64Array): number {
  return starts.reduce((latest, start, n) => Math.max(latest, start + (durations[n] as number)), 0);
}

interface Pumping {
  readonly mayStop: () => boolean;
  readonly deadlineMs: number;
  readonly tell: () => string;
}

function statusOf({ unit }: Project, best: number, bound: number, tried: number): string {
  const shortest = Number.isFinite(best) ? formatTicks(best, unit) : "none yet";
  const times = `best ${shortest}, lower bound ${formatTicks(bound, unit)}`;
  return `planning: ${times}, ${countOf(tried, "schedule")} tried`;
}
