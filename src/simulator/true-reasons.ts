import { REJECTIONS, type Rejection } from "../placement/index.ts";
import type { RoomBarrier, WaitReason } from "../scheduler/index.ts";
import { couldEverRun } from "./able-workers.ts";
import { type Model, ofZone } from "./model.ts";
import {
  amountOf,
  hasRate,
  keptFrom,
  maxOf,
  mostOf,
  rateOpensAt,
  runningOf,
  runningUnder,
} from "./model-admission.ts";
import { isDue, type ModelTask, type ModelWorker } from "./model-tasks.ts";
import { obstacleOf } from "./oracle.ts";
import { Ranking } from "./ranking.ts";

type Barrier = Extract<WaitReason, { code: "Admission" }>["barriers"][number];

/** How many dependencies are named. */
const NAMED = 20;

/** Everything that keeps a waiting task from running, looked up in nothing but the tasks and the workers themselves. */
export function trueReasons(model: Model, task: ModelTask, now: number): WaitReason[] {
  if (task.standsFor) {
    const { id: node, status } = task.standsFor;
    return [{ code: "Dependencies", open: [{ node, status }], total: 1 }];
  }
  const able = ableWorkers(model, task);
  const serving = servingWorkers(model, task);
  const rejected = countObstacles(model, task, serving);
  const barriers = barriersFor(model, task, now);
  const exceeds = barriers.find(
    (one): one is RoomBarrier => one.by === "concurrency" && one.max > 0 && one.needed > one.max,
  );
  const isPaused = ["", task.spec.executor].some((name) => model.paused.has(ofZone(task.zone, name)));
  const isLater = task.status === "delayed" && task.since > now;
  const open = task.needs.filter(({ status }) => status !== "completed");
  const isFull = serving.every((worker) => obstacleOf(model, worker, task) !== undefined);
  const kept = model.workers.find(({ reservedFor }) => reservedFor === task);
  const reasons: (WaitReason | false)[] = [
    (able.length === 0 || exceeds !== undefined) && {
      code: "Unsatisfiable",
      workers: serving.length,
      rejected,
      ...(exceeds && { exceeds }),
    },
    task.status === "held" && { code: "Held", by: "person" },
    isPaused && { code: "Held", by: "paused" },
    able.length > 0 &&
      able.every(({ standing }) => standing === "draining") && { code: "Held", by: "draining" },
    isLater && { code: "NotDue", dueAt: task.since, attempt: task.attempt + 1 },
    open.length > 0 && {
      code: "Dependencies",
      open: open.slice(0, NAMED).map(({ id, status }) => ({ node: id, status })),
      total: open.length,
    },
    barriers.length > 0 && { code: "Admission", barriers },
    isFull && able.length > 0 && { code: "Capacity", rejected, reservedWorker: kept?.spec.id },
    isDue(task, now) && outranked(model, task, now),
  ];
  const found = reasons.filter((reason) => reason !== false);
  return found.length === 0 && isDue(task, now) ? [{ code: "Pending" }] : found;
}

/** Those that could run it if they were empty. */
export function ableWorkers(model: Model, task: ModelTask): ModelWorker[] {
  return model.workers.filter((worker) => worker.standing !== "unreachable" && couldEverRun(worker, task));
}

/** The first of those that go before a task that could start, in order: tasks of no run, and of runs one of each kind. */
export function trueLine(model: Model, task: ModelTask, now: number): ModelTask[] {
  return lineOf(model, task, now).heads;
}

/** Those that are for its zone, and have not said good-bye. */
function servingWorkers(model: Model, { zone }: ModelTask): ModelWorker[] {
  return model.workers.filter(
    ({ spec, hasLeft, isForgotten }) =>
      !hasLeft && !isForgotten && (spec.zone === zone || spec.zones.includes(zone)),
  );
}

function countObstacles(
  model: Model,
  task: ModelTask,
  workers: readonly ModelWorker[],
): Partial<Record<Rejection, number>> {
  const obstacles = workers.map((worker) => obstacleOf(model, worker, task));
  const counts = REJECTIONS.map((code) => [code, obstacles.filter((one) => one === code).length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function barriersFor(model: Model, task: ModelTask, now: number): Barrier[] {
  const { zone, agent, spec } = task;
  const max = maxOf(model, zone, agent);
  const running = runningOf(model, zone, agent);
  const share: Barrier[] = max !== null && running >= max ? [{ by: "fair-share", running, max }] : [];
  return [...share, ...spec.limits.flatMap((name) => limitBarriers(model, task, name, now))];
}

function limitBarriers(model: Model, task: ModelTask, name: string, now: number): Barrier[] {
  const limit = model.limits.get(ofZone(task.zone, name));
  const isUsedUp = limit !== undefined && limit.rateCount !== null && !hasRate(limit, now);
  const [running, max] = [runningUnder(model, task.zone, name), mostOf(model, task.zone, name)];
  const [needed, kept] = [amountOf(task, name), keptFrom(model, task, name)];
  const hasRoom = running + needed + kept <= max;
  return [
    ...(isUsedUp ? [{ by: "rate", limit: name, nextAt: rateOpensAt(limit, now) } as const] : []),
    ...(hasRoom ? [] : [{ by: "concurrency", limit: name, running, max, needed, kept } as const]),
  ];
}

function outranked(model: Model, task: ModelTask, now: number): WaitReason | false {
  const { ahead, heads, ranking } = lineOf(model, task, now);
  const [first] = heads;
  if (!first) return false;
  const { publicId: id, zone, agent, isAlone } = first;
  const isBefore = !isAlone && first.run === task.run && ranking.goesBeforeInRun(first, task);
  const next = {
    id,
    zone,
    agent,
    node: isAlone ? undefined : first.id,
    ...(isBefore && { because: ranking.whatParts(first, task) }),
  };
  return { code: "Outranked", ahead: ahead.length, next };
}

/** What could run at all and goes first; beside others its run stands also by what is of the same kind as the task. */
function lineOf(
  model: Model,
  task: ModelTask,
  now: number,
): { ahead: ModelTask[]; heads: ModelTask[]; ranking: Ranking } {
  const due = [...model.offered].filter((other) => isDue(other, now));
  const able = new Set(due.filter((other) => ableWorkers(model, other).length > 0));
  const standing = due.filter((other) => able.has(other) || other.laneKey === task.laneKey);
  const ranking = new Ranking(model, now);
  const ahead = ranking.ahead(task, standing).filter((other) => able.has(other));
  const heads = ranking
    .inLine(standing)
    .filter((head) => ahead.some(({ laneKey }) => laneKey === head.laneKey));
  return { ahead, heads, ranking };
}
