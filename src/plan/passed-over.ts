import type { Skip } from "./plan.ts";
import type { Problem } from "./problem.ts";
import type { Project } from "./project.ts";

/** Says of activities that are ready and do not start at 0 what kept them. */
export class PassedOver {
  readonly #project: Project;
  readonly #problem: Problem;
  readonly #starts: Float64Array;
  /** In the order of their starts, and of their ends. */
  readonly #byStart: readonly number[];
  readonly #byFinish: readonly number[];
  readonly #freeAtStart: Float64Array;

  constructor(project: Project, problem: Problem, starts: Float64Array, byStart: readonly number[]) {
    this.#project = project;
    this.#problem = problem;
    this.#starts = starts;
    this.#byStart = byStart;
    this.#byFinish = byStart.toSorted((a, b) => this.#finish(a) - this.#finish(b));
    this.#freeAtStart = Float64Array.from(problem.capacities);
    for (const n of byStart)
      if (starts[n] === 0 && problem.durations[n] !== 0) this.#move(this.#freeAtStart, n, -1);
  }

  reasonFor(n: number): Skip {
    const lacking = this.#lacking(this.#freeAtStart, n);
    if (lacking === undefined) return { code: "Reserved", for: this.#idOf(this.#keeper(n)) };
    const resource = this.#problem.resources[lacking] as string;
    const free = Math.max(0, this.#freeAtStart[lacking] as number);
    if (resource === "slots") return { code: "no_slots", free };
    const code = resource === "tokens" ? "token_limit" : "resource_limit";
    return { code, resource, needed: this.#demand(n, lacking), free };
  }

  /** It would fit now, but not until it ends: who needs what it would still hold? */
  #keeper(n: number): number {
    const free = this.#freeAtStart.slice();
    const until = this.#problem.durations[n] as number;
    let ended = 0;
    for (const starting of this.#byStart) {
      const now = this.#starts[starting] as number;
      if (now >= until) break;
      if (now === 0 || starting === n || this.#problem.durations[starting] === 0) continue;
      for (; this.#finish(this.#byFinish[ended] as number) <= now; ended++) {
        const ending = this.#byFinish[ended] as number;
        if (ending !== n && this.#problem.durations[ending] !== 0) this.#move(free, ending, 1);
      }
      this.#move(free, starting, -1);
      if (this.#lacking(free, n) !== undefined) return starting;
    }
    // Not where schedules leave no room unused that something could start in earlier.
    return this.#byStart.find((other) => other !== n && (this.#starts[other] as number) > 0) ?? n;
  }

  /** The first resource of which too little is free: slots before tokens, tokens before the others. */
  #lacking(free: Float64Array, n: number): number | undefined {
    const { resources } = this.#problem;
    const rankOf = (name: string): number => (name === "slots" ? 0 : name === "tokens" ? 1 : 2);
    return [...resources.keys()]
      .filter((r) => this.#demand(n, r) > (free[r] as number))
      .sort((a, b) => rankOf(resources[a] as string) - rankOf(resources[b] as string) || a - b)[0];
  }

  #move(free: Float64Array, n: number, sign: 1 | -1): void {
    for (let r = 0; r < free.length; r++) (free[r] as number) += sign * this.#demand(n, r);
  }

  #demand(n: number, r: number): number {
    return this.#problem.demands[n * this.#problem.resources.length + r] as number;
  }

  #finish(n: number): number {
    return (this.#starts[n] as number) + (this.#problem.durations[n] as number);
  }

  #idOf(n: number): string {
    return this.#project.activities[this.#problem.activity[n] as number]?.id ?? "";
  }
}
