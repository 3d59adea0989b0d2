import type { ReservationMade } from "../ledger/index.ts";
import { couldEverRun } from "./able-workers.ts";
import type { Model } from "./model.ts";
import { Admissions } from "./model-admission.ts";
import { aboutTask, describeTask, isDue, type ModelTask, type ModelWorker } from "./model-tasks.ts";
import { hasPlace } from "./places.ts";
import { Ranking } from "./ranking.ts";
import { demand } from "./violation.ts";

/** A worker is kept free only for what has waited long enough, one for each executor and zone. */
export function checkReservation(model: Model, task: ModelTask, event: ReservationMade, now: number): void {
  const about = { ...aboutTask(task), worker: event.worker };
  const broken = (what: string) => () => `${describeTask(task)}: ${what}`;
  demand(isOverdue(model, task, now), "reservation-overdue", broken("has not waited long enough"), about);
  demand(isMixed(model, task), "reservation-needed", broken("nothing else could pass it over"), about);
  demand(!isReservedAt(model, task), "reservation-single", broken("a second one in its place"), about);
  const ranking = new Ranking(model, now);
  const isFirst = ranking.firstsOfGroups().includes(task);
  demand(isFirst, "reservation-first", broken("others go first"), about);
  demand(new Admissions(model, now).admits(task), "reservation-admitted", broken("it may not start"), about);
  const waiting = overdueTasks(model, now).filter((one) => isMixed(model, one) && !isReservedAt(model, one));
  const next = ranking.sequence(waiting).find((one) => openingFor(model, one, now));
  demand(next === task, "reservation-order", broken(`${next?.run.number}/${next?.node} goes first`), about);
  const opening = openingFor(model, task, now);
  demand(
    opening?.worker.number === event.worker && opening.freeAt === event.freeAt,
    "reservation-opening",
    broken(
      `worker ${event.worker} at ${event.freeAt} is kept, first is ${opening?.worker.number} at ${opening?.freeAt}`,
    ),
    about,
  );
}

/** After a turn: nothing that should have a worker kept free lacks it. */
export function checkReservationsMade(model: Model, now: number): void {
  for (const task of overdueTasks(model, now)) {
    if (isReservedAt(model, task) || !isMixed(model, task)) continue;
    const opening = openingFor(model, task, now);
    demand(
      opening === undefined,
      "reservation-due",
      () => `${describeTask(task)} waits since ${task.since} and no worker is kept free for it`,
      aboutTask(task),
    );
  }
}

/** When the next worker should be kept free if nothing else happens. */
export function nextReservationAt(model: Model, now: number): number {
  let next = Number.POSITIVE_INFINITY;
  const admissions = new Admissions(model, now);
  for (const task of new Ranking(model, now).firstsOfGroups()) {
    const at = task.since + (model.config?.reserveAfterMs ?? 0);
    if (at <= now || at >= next || isReservedAt(model, task) || !isMixed(model, task)) continue;
    if (admissions.admits(task) && openingFor(model, task, now)) next = at;
  }
  return next;
}

/** Of those that may start. */
function overdueTasks(model: Model, now: number): ModelTask[] {
  const admissions = new Admissions(model, now);
  return new Ranking(model, now)
    .firstsOfGroups()
    .filter((task) => isOverdue(model, task, now) && admissions.admits(task));
}

function isOverdue(model: Model, task: ModelTask, now: number): boolean {
  return isDue(task, now) && now - task.since >= (model.config?.reserveAfterMs ?? 0);
}

function isReservedAt(model: Model, task: ModelTask): boolean {
  return model.workers.some(({ reservedFor }) => reservedFor && reservedFor.place === task.place);
}

/** Whether open work has different needs in its place: where all are the same, nothing passes another over. */
function isMixed(model: Model, task: ModelTask): boolean {
  const isOther = (other: ModelTask) => other.needsKey !== task.needsKey && other.place === task.place;
  for (const run of model.runs.values())
    if (run.outcome === undefined && run.tasks.some(isOther)) return true;
  for (const single of model.singles.values()) if (isOther(single)) return true;
  return false;
}

function openingFor(
  model: Model,
  task: ModelTask,
  now: number,
): { worker: ModelWorker; freeAt: number } | undefined {
  const openings = model
    .sortedWorkers()
    .filter((worker) => worker.standing === "open" && !worker.reservedFor && couldEverRun(worker, task))
    .map((worker) => ({ worker, freeAt: roomAt(model, worker, task, now) }));
  return openings.reduce<(typeof openings)[number] | undefined>(
    (best, one) => (best === undefined || one.freeAt < best.freeAt ? one : best),
    undefined,
  );
}

/** The first of the moments at which enough of what it holds should have ended. */
function roomAt(model: Model, worker: ModelWorker, task: ModelTask, now: number): number {
  const moments = [now, ...[...worker.held].map((held) => Math.max(now, held.expectedEndMs))];
  for (const at of moments.sort((a, b) => a - b)) {
    // Those that should end at one moment are counted one by one, as few of them as it takes.
    const left = [...worker.held].filter((held) => Math.max(now, held.expectedEndMs) > at);
    const cpu = left.reduce((sum, held) => sum + held.spec.cpuMillicores, 0);
    const memory = left.reduce((sum, held) => sum + held.spec.memoryBytes, 0);
    const fits =
      worker.spec.cpuMillicores - cpu >= task.spec.cpuMillicores &&
      worker.spec.memoryBytes - memory >= task.spec.memoryBytes &&
      hasPlace(worker, task, model.config?.maxQueuePerWorker ?? 0, left);
    if (fits) return at;
  }
  return now;
}
