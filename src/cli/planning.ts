import { setImmediate } from "node:timers/promises";
import type { SpeculationSettings } from "../graph/index.ts";
import {
  assemble,
  compile,
  type Found,
  levelsOf,
  lowerBound,
  ParallelScheduler,
  type Problem,
  type Project,
  Search,
  speculate,
  wholeOrder,
} from "../plan/index.ts";
import { countOf } from "../words/index.ts";
import type { PlanReport } from "./plan-report.ts";
import { formatTicks } from "./plan-words.ts";
import { StatusLine } from "./status-line.ts";

export interface PlanningOptions {
  readonly mode: "online" | "plan";
  readonly seed: number;
  /** How long to search, unless a number of schedules is given. */
  readonly effortMs: number;
  readonly schedules: number | undefined;
  readonly speculation: SpeculationSettings;
}

/** How long others, such as signals, may have to wait. */
const TURN_MS = 50;

/** Makes plans, until it is told to stop: then the best so far is the plan. */
export class Planner {
  readonly #options: PlanningOptions;
  readonly #status = new StatusLine();
  #isStopped = false;

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
    const startedMs = performance.now();
    this.#status.show(() => `planning ${countOf(original.activities.length, "node")}`);
    const { project, speculated } = speculate(original, capacities, this.#options.speculation);
    const compiled = compile(project, capacities);
    const found = await this.#search(project, compiled.problem, startedMs).finally(() =>
      this.#status.clear(),
    );
    const plan = assemble(project, compiled, found);
    return { project, plan, capacities, speculated, seed: this.#options.seed };
  }

  async #search(project: Project, problem: Problem, startedMs: number): Promise<Found> {
    const { mode, effortMs, schedules = Number.POSITIVE_INFINITY } = this.#options;
    const deadlineMs = schedules < Number.POSITIVE_INFINITY ? Number.POSITIVE_INFINITY : startedMs + effortMs;
    const levels = levelsOf(problem);
    const bound = lowerBound(problem, levels);
    const online = new ParallelScheduler(problem);
    online.schedule(wholeOrder(project, problem, levels));
    const found = { mode, starts: online.starts, lowerBound: bound, schedules: 1 };
    if (mode === "online") return found;
    const search = new Search(problem, this.#options.seed, online);
    let turnMs = startedMs;
    for (const _ of search.steps(schedules, bound)) {
      const nowMs = performance.now();
      if (this.#isStopped || nowMs >= deadlineMs) break;
      if (nowMs - turnMs < TURN_MS) continue;
      this.#status.show(() => statusOf(project, search.best.makespan, bound, search.schedules));
      await setImmediate();
      turnMs = performance.now();
    }
    return { ...found, starts: search.best.starts, schedules: search.schedules };
  }
}

function statusOf({ unit }: Project, best: number, bound: number, tried: number): string {
  const times = `best ${formatTicks(best, unit)}, lower bound ${formatTicks(bound, unit)}`;
  return `planning: ${times}, ${countOf(tried, "schedule")} tried`;
}
