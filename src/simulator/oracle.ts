import { hash32, mix32 } from "../core/index.ts";
import type { TaskAssigned } from "../ledger/index.ts";
import type { Reason } from "../placement/index.ts";
import { heldInputs, isNearQueue, nearnessOf, nearnessReason } from "./data-oracle.ts";
import type { Model } from "./model.ts";
import { Admissions } from "./model-admission.ts";
import { isFreshRoot, lanesThatMayWait } from "./model-data.ts";
import { aboutTask, describeTask, type ModelTask, type ModelWorker } from "./model-tasks.ts";
import { hasPlace } from "./places.ts";
import { Ranking } from "./ranking.ts";
import { demand } from "./violation.ts";

/** Why a worker may not take a task, in the order in which the ledger counts them. */
const OBSTACLES = [
  "executor",
  "zone",
  "capability",
  "unreachable",
  "draining",
  "overloaded",
  "queue",
  "reserved",
  "cpu",
  "memory",
  "returned",
] as const;

type Obstacle = (typeof OBSTACLES)[number];

/** What holding an input counts for, in the unit of its bytes. */
const POINTS_PER_INPUT = 65_536;

export function obstacleOf(model: Model, worker: ModelWorker, task: ModelTask): Obstacle | undefined {
  const { spec, standing } = worker;
  const wanted = task.spec;
  if (!spec.executors.includes(wanted.executor)) return "executor";
  if (spec.zone !== task.zone && !spec.zones.includes(task.zone)) return "zone";
  for (const capability of wanted.capabilities) {
    if (!spec.capabilities.includes(capability)) return "capability";
  }
  if (standing !== "open") return standing;
  // What is tried in several ways begins at once, or not in several.
  const queue = model.unplaced.includes(task) ? 0 : (model.config?.maxQueuePerWorker ?? 0);
  if (!hasPlace(worker, task, queue)) return "queue";
  if (worker.reservedFor !== undefined && worker.reservedFor !== task) return "reserved";
  if (wanted.cpuMillicores > worker.freeCpu) return "cpu";
  if (wanted.memoryBytes > worker.freeMemory) return "memory";
  return undefined;
}

/** Some worker that could take the task now. */
export function placeFor(model: Model, task: ModelTask): ModelWorker | undefined {
  return model.workers.find((worker) => obstacleOf(model, worker, task) === undefined);
}

/** Recomputes an assignment before it is applied, by looking at every worker. */
export function checkAssignment(model: Model, task: ModelTask, event: TaskAssigned): void {
  const about = { ...aboutTask(task), worker: event.worker };
  const chosen = model.workers[event.worker];
  demand(chosen !== undefined, "known-worker", () => `worker ${event.worker} never registered`, about);
  const obstacles = obstaclesFor(model, task);
  const obstacle = obstacles[event.worker];
  demand(
    obstacle === undefined,
    `assigned-despite-${obstacle}`,
    () => `${describeTask(task)} was given to ${nameOf(chosen)}, but: ${obstacle}`,
    about,
  );
  if (isFreshRoot(task)) return;
  const counts = OBSTACLES.map((code) => obstacles.filter((one) => one === code).length);
  while (counts.at(-1) === 0) counts.pop();
  demand(
    counts.join() === event.rejected.join(),
    "rejection-counts",
    () => `${describeTask(task)}: rejected ${event.rejected.join()} is recorded, ${counts.join()} is true`,
    about,
  );
  const candidates = model.workers.filter((worker) => obstacles[worker.number] === undefined);
  const ranked = candidates.sort(preference(model, task));
  demand(
    ranked[0] === chosen,
    "best-worker",
    () =>
      `${describeTask(task)} went to ${nameOf(chosen)}, better by ${model.config?.strategy}: ${nameOf(ranked[0])}`,
    about,
  );
  const available = obstacles.filter((one) => one === undefined || one === "cpu" || one === "memory").length;
  checkReason(model, task, event, ranked, available);
}

/** A worker that has inputs of the task may queue it, where any other could take it. */
export function obstaclesFor(model: Model, task: ModelTask): (Obstacle | "forgotten" | undefined)[] {
  const obstacles = model.workers.map((worker) =>
    worker.isForgotten ? "forgotten" : obstacleOf(model, worker, task),
  );
  if (!obstacles.includes(undefined)) return obstacles;
  const back = task.returnedBy?.number ?? -1;
  const others = obstacles.filter((one, at) => one === undefined && at !== back);
  if (back !== -1 && obstacles[back] === undefined && others.length > 0) obstacles[back] = "returned";
  return obstacles.map((obstacle, number) => {
    const isNear =
      obstacle === "queue" && number !== back && isNearQueue(model, model.workerAt(number), task);
    return isNear ? undefined : obstacle;
  });
}

function checkReason(
  model: Model,
  task: ModelTask,
  event: TaskAssigned,
  ranked: readonly ModelWorker[],
  available: number,
): void {
  const about = { ...aboutTask(task), worker: event.worker };
  const runnerUp = ranked[1]?.number ?? -1;
  demand(
    event.runnerUp === runnerUp,
    "runner-up",
    () => `${describeTask(task)}: runner-up ${event.runnerUp} is recorded, ${runnerUp} is true`,
    about,
  );
  const reason = trueReason(model, task, ranked, available);
  demand(
    JSON.stringify(event.reason) === JSON.stringify(reason),
    "true-reason",
    () =>
      `${describeTask(task)}: ${JSON.stringify(event.reason)} is recorded, ${JSON.stringify(reason)} is true`,
    about,
  );
}

function trueReason(
  model: Model,
  task: ModelTask,
  ranked: readonly ModelWorker[],
  available: number,
): Reason {
  const [best, second] = ranked as [ModelWorker, ModelWorker | undefined];
  if (available === 1) return { type: "OnlyWorkerAvailable" };
  if (!second) {
    return { type: "ResourceFit", availableCpu: best.freeCpu, requiredCpu: task.spec.cpuMillicores };
  }
  if (heldInputs(task).length > 0) return nearnessReason(model, task, best, second);
  const { strategy, preferLocality } = model.config as NonNullable<Model["config"]>;
  const [own, others] = [pointsOf(best, task), pointsOf(second, task)];
  if (preferLocality && own > 0 && others === 0) return { type: "Affinity", because: "DataLocality" };
  if (strategy === "round-robin") return { type: "RoundRobin", index: model.sortedWorkers().indexOf(best) };
  if (strategy === "random") return { type: "Random", hash: scoreOf(model, best, task) };
  if (strategy === "affinity") {
    const { type } = task.spec;
    if (own > others) return { type: "Affinity", because: "DataLocality" };
    if (best.executed.has(type) && !second.executed.has(type))
      return { type: "Affinity", because: "PreviouslyExecuted" };
    if (best.spec.zone === task.zone && second.spec.zone !== task.zone)
      return { type: "Affinity", because: "SameZone" };
  }
  return { type: "LeastLoaded", queueDepth: best.held.size };
}

type Compare = (a: ModelWorker, b: ModelWorker) => number;

/** Who gets it of two that can. */
export function preference(model: Model, task: ModelTask): Compare {
  const { strategy, preferLocality } = model.config as NonNullable<Model["config"]>;
  const sorted = model.sortedWorkers();
  const last = model.cursor ? sorted.indexOf(model.cursor) : -1;
  const turn = (worker: ModelWorker) => (sorted.indexOf(worker) - last - 1 + sorted.length) % sorted.length;
  const yes = (claim: boolean) => (claim ? 0 : 1);
  const isNear = heldInputs(task).length > 0;
  const marks = (worker: ModelWorker): number[] => {
    if (isNear) return [-nearnessOf(model, worker, task)];
    const points = pointsOf(worker, task);
    const holds = yes(!preferLocality || points > 0);
    const depth = worker.held.size;
    switch (strategy) {
      case "least-loaded":
        return [holds, depth];
      case "round-robin":
        return [holds, turn(worker)];
      case "random":
        return [holds, -scoreOf(model, worker, task)];
      case "affinity":
        return [
          -points,
          yes(worker.executed.has(task.spec.type)),
          yes(worker.spec.zone === task.zone),
          depth,
        ];
    }
  };
  return (a, b) => {
    const [ofA, ofB] = [marks(a), marks(b)];
    for (const [at, mark] of ofA.entries()) {
      const lead = mark - (ofB[at] as number);
      if (lead !== 0) return lead;
    }
    return a.spec.id < b.spec.id ? -1 : 1;
  };
}

function scoreOf(model: Model, worker: ModelWorker, task: ModelTask): number {
  return mix32(hash32(task.id, model.config?.seed ?? 0) ^ hash32(worker.spec.id));
}

/** For the results of what it needs that the worker has had since it last registered. */
function pointsOf(worker: ModelWorker, task: ModelTask): number {
  if (worker.standing === "unreachable") return 0;
  let points = 0;
  for (const need of task.needs) {
    if (need.worker === worker && need.completedSeq > worker.registeredSeq) {
      points += POINTS_PER_INPUT + need.resultBytes;
    }
  }
  return points;
}

/** Of the firsts of all groups, those that may start and have a place, it is the one that goes first. */
export function checkOrder(model: Model, task: ModelTask, now: number): void {
  const places = new Map<string, boolean>();
  const admissions = new Admissions(model, now);
  const ranking = new Ranking(model, now);
  const able = ranking.firstsOfGroups().filter((one) => {
    if (one === task) return true;
    if (!admissions.admits(one)) return false;
    const has = places.get(one.needsKey) ?? placeFor(model, one) !== undefined;
    places.set(one.needsKey, has);
    return has;
  });
  const next = nextBefore(model, task, able, ranking, now);
  demand(
    next === undefined,
    "order",
    () =>
      `${describeTask(task)} was assigned before ${next && describeTask(next)}, which goes first and fits`,
    aboutTask(task),
  );
}

/** Who should have gone instead. Of roots with data any of a lane goes for the first, and its worker may be waited for. */
function nextBefore(
  model: Model,
  task: ModelTask,
  able: readonly ModelTask[],
  ranking: Ranking,
  now: number,
): ModelTask | undefined {
  const mayWait = lanesThatMayWait(model, now);
  let left = able;
  for (let next = ranking.next(left); next !== task; next = ranking.next(left)) {
    if (!next) return task;
    if (next.laneKey === task.laneKey && isFreshRoot(next) && isFreshRoot(task)) return undefined;
    const passed = next;
    if (!isFreshRoot(next) || !mayWait.has(next.laneKey)) return next;
    left = left.filter((one) => one !== passed);
  }
  return undefined;
}

function nameOf(worker: ModelWorker | undefined): string {
  return worker ? `worker ${worker.number} (${JSON.stringify(worker.spec.id)})` : "no worker";
}
