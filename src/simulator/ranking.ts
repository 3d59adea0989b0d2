import type { Model } from "./model.ts";
import { isDemoted } from "./model-admission.ts";
import { isDue, isEnded, type ModelRun, type ModelTask } from "./model-tasks.ts";
import { classOf } from "./tiers.ts";

/** By what nodes of a run go before each other, in this order. */
const PRECEDENCES = ["starved", "critical-path", "priority", "risk", "holds-up", "age", "submitted"] as const;
export type Precedence = (typeof PRECEDENCES)[number];

/** Tasks of one run, or one of no run. */
interface RunOfTasks {
  readonly tasks: readonly ModelTask[];
  readonly first: ModelTask;
  /** What they stand as among the others. */
  readonly as: ModelTask;
}

/** Who goes first at one moment, looked up in nothing but the tasks themselves. */
export class Ranking {
  readonly #model: Model;
  readonly #now: number;
  readonly #offered: readonly ModelTask[];
  /** The longest chain that remains of a run. */
  readonly #longest = new Map<ModelRun, number>();
  /** The most urgent of those that stand together. */
  readonly #leads = new Map<string, number>();

  constructor(model: Model, now: number) {
    this.#model = model;
    this.#now = now;
    this.#offered = [...model.offered].filter((task) => isDue(task, now));
    for (const task of this.#offered) {
      const lead = this.#leads.get(task.laneKey) ?? 4;
      this.#leads.set(task.laneKey, Math.min(lead, this.#tierOf(task)));
    }
  }

  /** What may be handed out next: tasks of no run, and of each run and kind the one that its own order puts first. */
  heads(): ModelTask[] {
    return this.#firsts(
      this.#offered,
      ({ laneKey }) => laneKey,
      (a, b) => this.#withinRun(a, b) < 0,
    );
  }

  /** Of all that start under the same conditions on the same workers, the first: only it can have a worker kept free. */
  firstsOfGroups(): ModelTask[] {
    return this.#firsts(
      this.heads(),
      ({ groupKey }) => groupKey,
      (a, b) => this.outranks(a, b),
    );
  }

  /** Which of two that may be handed out goes first in its line. */
  outranks(a: ModelTask, b: ModelTask): boolean {
    return this.#compare(this.#standIn(a), this.#standIn(b)) < 0;
  }

  /**
   * Which of these goes first: those of one run go by its order. Among others the run stands as the one that this puts first,
   * and as urgently as the most urgent.
   */
  next(tasks: readonly ModelTask[]): ModelTask | undefined {
    let best: RunOfTasks | undefined;
    for (const run of this.#byRun(tasks)) if (!best || this.#compare(run.as, best.as) < 0) best = run;
    return best?.first;
  }

  /** Those of these that go before one of them: all of a run that does, and of its own those that its order puts first. */
  ahead(task: ModelTask, tasks: readonly ModelTask[]): ModelTask[] {
    const runs = this.#byRun(tasks);
    const own = runs.find((run) => run.tasks.includes(task)) as RunOfTasks;
    return runs.flatMap((run) => {
      if (run === own) return own.tasks.filter((other) => other !== task && this.#withinRun(other, task) < 0);
      return this.#compare(run.as, own.as) < 0 ? run.tasks : [];
    });
  }

  /** Of these, tasks of no run, and of each run and kind the first: run by run, as they stand among each other now. */
  inLine(tasks: readonly ModelTask[]): ModelTask[] {
    const runs = this.#byRun(tasks).sort((a, b) => this.#compare(a.as, b.as));
    const isBefore = (a: ModelTask, b: ModelTask) => this.goesBeforeInRun(a, b);
    return runs.flatMap((run) =>
      this.#firsts(run.tasks, ({ laneKey }) => laneKey, isBefore).sort((a, b) => this.#withinRun(a, b)),
    );
  }

  goesBeforeInRun(a: ModelTask, b: ModelTask): boolean {
    return this.#withinRun(a, b) < 0;
  }

  /** The first in which two of a run differ. */
  whatParts(a: ModelTask, b: ModelTask): Precedence {
    const [ofA, ofB] = [this.#marks(a), this.#marks(b)];
    return PRECEDENCES[ofA.findIndex((mark, at) => mark !== ofB[at])] as Precedence;
  }

  /** All of these, each as it goes first when those before it are gone. */
  sequence(tasks: readonly ModelTask[]): ModelTask[] {
    const left = new Set(tasks);
    const order: ModelTask[] = [];
    for (let task = this.next([...left]); task; task = this.next([...left])) {
      order.push(task);
      left.delete(task);
    }
    return order;
  }

  #byRun(tasks: readonly ModelTask[]): RunOfTasks[] {
    const byRun = new Map<ModelRun | ModelTask, ModelTask[]>();
    for (const task of tasks) {
      const run = task.isAlone ? task : task.run;
      byRun.set(run, [...(byRun.get(run) ?? []), task]);
    }
    return [...byRun.values()].map((together) => {
      const first = together.reduce((a, b) => (this.#withinRun(a, b) < 0 ? a : b));
      const tier = Math.min(...together.map((task) => this.#standIn(task).tier));
      return { tasks: together, first, as: this.#asUrgentAs(first, tier) };
    });
  }

  #compare(a: ModelTask, b: ModelTask): number {
    const model = this.#model;
    const now = this.#now;
    switch (model.settings.order) {
      case "graph":
        return runTier(a) - runTier(b) || a.seq - b.seq || this.#withinRun(a, b);
      case "hrrn":
        return classNow(model, a, now) - classNow(model, b, now) || byRatio(a, b, now) || byAge(a, b);
      case "classic":
        return tierNow(model, a, now) - tierNow(model, b, now) || byAge(a, b);
    }
  }

  #firsts(
    tasks: readonly ModelTask[],
    keyOf: (task: ModelTask) => string,
    isBefore: (a: ModelTask, b: ModelTask) => boolean,
  ): ModelTask[] {
    const firsts = new Map<string, ModelTask>();
    for (const task of tasks) {
      const first = firsts.get(keyOf(task));
      if (!first || isBefore(task, first)) firsts.set(keyOf(task), task);
    }
    return [...firsts.values()];
  }

  /** G-04: starving, critical, priority, risk, work that hangs on it, age, place in the graph. */
  #marks(task: ModelTask): number[] {
    return [
      this.#isStarving(task) ? 0 : 1,
      this.isCritical(task) ? 0 : 1,
      this.#tierOf(task),
      -["low", "medium", "high", "critical"].indexOf(task.spec.risk),
      task.run.hasData ? -task.weight : task.spec.estimateMs - 2 * task.holdsUpMs,
      task.readyAt,
      task.node,
    ];
  }

  #withinRun(a: ModelTask, b: ModelTask): number {
    const [ofA, ofB] = [this.#marks(a), this.#marks(b)];
    const at = ofA.findIndex((mark, index) => mark !== ofB[index]);
    return at === -1 ? 0 : (ofA[at] as number) - (ofB[at] as number);
  }

  get #starveMs(): number {
    return this.#model.settings.starveNodeMs ?? 4 * 3_600_000;
  }

  #isStarving({ readyAt }: ModelTask): boolean {
    return this.#now - readyAt > 6 * this.#starveMs;
  }

  /** The priority of a node after its wait; a task of no run has the one that it came with. */
  #tierOf(task: ModelTask): number {
    if (task.isAlone) return task.tier;
    if (this.#isStarving(task)) return 0;
    return this.#now - task.readyAt > this.#starveMs ? Math.max(0, task.tier - 1) : task.tier;
  }

  isCritical({ run, holdsUpMs }: ModelTask): boolean {
    if (run.hasData) return false;
    let longest = this.#longest.get(run);
    if (longest === undefined) {
      longest = Math.max(0, ...run.tasks.filter((task) => !isEnded(task)).map((task) => task.holdsUpMs));
      this.#longest.set(run, longest);
    }
    return holdsUpMs === longest;
  }

  /** Whoever goes first of those that stand together stands for the most urgent of them. */
  #standIn(task: ModelTask): ModelTask {
    return this.#asUrgentAs(task, this.#leads.get(task.laneKey) ?? this.#tierOf(task));
  }

  /** In the order of graphs a run stands as a whole anyway. */
  #asUrgentAs(task: ModelTask, tier: number): ModelTask {
    if (task.isAlone || this.#model.settings.order === "graph") return task;
    return { ...task, tier, startClass: classOf(tier, false) };
  }
}

/** A run stands among others as urgently as the most urgent of its nodes. */
function runTier({ run, tier, isAlone }: ModelTask): number {
  return isAlone ? tier : Math.min(...run.tasks.map((task) => (task.standsFor ? 4 : task.tier)));
}

/** (wait + estimate) / estimate, higher first, as fractions. */
function byRatio(a: ModelTask, b: ModelTask, now: number): number {
  const left = BigInt(now - a.readyAt + estimateOf(a)) * BigInt(estimateOf(b));
  const right = BigInt(now - b.readyAt + estimateOf(b)) * BigInt(estimateOf(a));
  return left > right ? -1 : left < right ? 1 : 0;
}

function byAge(a: ModelTask, b: ModelTask): number {
  return a.readyAt - b.readyAt || (a.publicId < b.publicId ? -1 : 1);
}

function estimateOf({ spec }: ModelTask): number {
  return spec.estimateMs > 0 ? spec.estimateMs : 1;
}

export function isDeadlineNear(model: Model, task: ModelTask, now: number): boolean {
  if (task.deadline < 0) return false;
  return task.deadline - now <= Math.floor(model.settings.deadlineLift * estimateOf(task));
}

/** 0 interactive, 1 batch, 2 background: lowered by cost, then raised by the wait and by the deadline. */
export function classNow(model: Model, task: ModelTask, now: number): number {
  const { starveBackgroundMs, starveBatchMs } = model.settings;
  const waited = now - task.readyAt;
  let at = task.startClass;
  if (at === 0 && isDemoted(model, task, now)) at = 1;
  if (at === 2 && waited > starveBackgroundMs) at = 1;
  if (at === 1 && starveBatchMs !== null && waited > starveBatchMs) at = 0;
  return isDeadlineNear(model, task, now) ? 0 : at;
}

/** One tier up for each time that it has waited so long, looked at in steps; at least HIGH when it is high time. */
export function tierNow(model: Model, task: ModelTask, now: number): number {
  const { ageEveryMs, ageStepMs, maxWaitMs } = model.settings;
  const waited = now - task.readyAt;
  const seen = Math.floor(waited / ageStepMs) * ageStepMs;
  const aged = Math.max(0, task.tier - Math.floor(seen / ageEveryMs));
  const highTime = waited > maxWaitMs || isDeadlineNear(model, task, now);
  return highTime ? Math.min(aged, 1) : aged;
}
