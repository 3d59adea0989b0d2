import type { Skip } from "./plan.ts";
import type { Problem } from "./problem.ts";
import type { Project } from "./project.ts";

const NONE = -1;

/** Says of activities that are ready and do not start at 0 what kept them. */
export class PassedOver {
  readonly #project: Project;
  readonly #problem: Problem;
  readonly #starts: Float64Array;
  /** In the order of their starts, and of their ends. */
  readonly #byStart: readonly number[];
  readonly #byFinish: readonly number[];
  readonly #freeAtStart: Float64Array;
  /** Slots before tokens, tokens before the others. */
  readonly #ranked: readonly number[];
  #lackedLast: Int32Array | undefined;

  constructor(project: Project, problem: Problem, starts: Float64Array, byStart: readonly number[]) {
    this.#project = project;
    this.#problem = problem;
    this.#starts = starts;
    this.#byStart = byStart;
    this.#byFinish = byStart.toSorted((a, b) => this.#finish(a) - this.#finish(b));
    const rankOf = (name = ""): number => (name === "slots" ? 0 : name === "tokens" ? 1 : 2);
    const { resources } = problem;
    this.#ranked = [...resources.keys()].sort((a, b) => rankOf(resources[a]) - rankOf(resources[b]) || a - b);
    this.#freeAtStart = Float64Array.from(problem.capacities);
    for (const n of byStart) if (starts[n] === 0) this.#hold(this.#freeAtStart, n, -1);
  }

  reasonFor(n: number): Skip {
    const lacking = this.#mainlyLacking(n);
    if (lacking === undefined) return { code: "Reserved", for: this.#idOf(this.#keeper(n)) };
    const resource = this.#problem.resources[lacking] as string;
    const free = Math.max(0, this.#freeAtStart[lacking] as number);
    if (resource === "slots") return { code: "no_slots", free };
    const code = resource === "tokens" ? "token_limit" : "resource_limit";
    return { code, resource, needed: this.#demand(n, lacking), free };
  }

  /** Of several, one that it still lacks just before it starts: more of the others would not help it. */
  #mainlyLacking(n: number): number | undefined {
    const [first, second] = this.#lacking(this.#freeAtStart, n);
    if (second === undefined) return first;
    this.#lackedLast ??= this.#lackingBeforeStarts();
    const last = this.#lackedLast[n] as number;
    return last === NONE ? first : last;
  }

  /** Of each activity, the first of what it lacks at 0 that it also lacks just before it starts. */
  #lackingBeforeStarts(): Int32Array {
    const free = Float64Array.from(this.#problem.capacities);
    const lacking = new Int32Array(this.#problem.size).fill(NONE);
    let [begun, ended] = [0, 0];
    for (const n of this.#byStart) {
      const now = this.#starts[n] as number;
      for (; (this.#starts[this.#byStart[begun] as number] as number) < now; begun++)
        this.#hold(free, this.#byStart[begun] as number, -1);
      for (; this.#finish(this.#byFinish[ended] as number) < now; ended++)
        this.#hold(free, this.#byFinish[ended] as number, 1);
      const still = this.#lacking(this.#freeAtStart, n).find((r) => this.#demand(n, r) > (free[r] as number));
      if (still !== undefined) lacking[n] = still;
    }
    return lacking;
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
        if (ending !== n) this.#hold(free, ending, 1);
      }
      this.#move(free, starting, -1);
      if (this.#lacking(free, n).length > 0) return starting;
    }
    // Not where schedules leave no room unused that something could start in earlier.
    return this.#byStart.find((other) => other !== n && (this.#starts[other] as number) > 0) ?? n;
  }

  /** The resources of which too little is free. */
  #lacking(free: Float64Array, n: number): number[] {
    return this.#ranked.filter((r) => this.#demand(n, r) > (free[r] as number));
  }

  /** What takes no time holds nothing. */
  #hold(free: Float64Array, n: number, sign: 1 | -1): void {
    if (this.#problem.durations[n] !== 0) this.#move(free, n, sign);
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
