import { checkData, checkKept } from "./data-facts.ts";
import type { Model } from "./model.ts";
import { Admissions, barriersOf, rateFreeAt } from "./model-admission.ts";
import { lanesThatMayWait } from "./model-data.ts";
import { checkGrowth } from "./model-growth.ts";
import {
  aboutTask,
  describeTask,
  isDue,
  isEnded,
  isToStopAll,
  isWaiting,
  type ModelRun,
  type ModelTask,
  type ModelWorker,
} from "./model-tasks.ts";
import { placeFor } from "./oracle.ts";
import { checkReservationsMade, nextReservationAt } from "./reservations.ts";
import { checkRoomsReserved, nextRoomAt } from "./rooms.ts";
import { isOfNoUse } from "./speculation.ts";
import { hasBegun } from "./task-facts.ts";
import { demand } from "./violation.ts";

/** What must have been done by the end of a turn. */
export function checkDuties(model: Model, now: number): void {
  demand(model.unplaced.length === 0, "alternatives-together", () => "not all alternatives were placed");
  for (const run of model.runs.values()) {
    if (run.outcome === undefined) checkRun(run);
    if (run.hasData) checkData(model, run, now);
    checkGrowth(run);
  }
  checkKept(model);
  for (const task of model.singles.values()) checkSingle(task, now);
  checkWorkConserving(model, now);
  checkReservationsMade(model, now);
  checkRoomsReserved(model, now);
}

function checkRun(run: ModelRun): void {
  let open = 0;
  const stopsAll = isToStopAll(run);
  for (const task of run.tasks) {
    if (isEnded(task)) continue;
    open++;
    checkTask(task, stopsAll);
    const dead = task.needs.find((need) => isEnded(need) && need.status !== "completed");
    demand(
      dead === undefined || (run.hasData && hasBegun(task)),
      "dependents-skipped",
      () => `${describeTask(task)} waits for ${describeTask(dead as ModelTask)}`,
      aboutTask(task),
    );
  }
  demand(open > 0, "run-ended", () => `all tasks of run ${run.number} have ended, it has not`, {
    run: run.number,
  });
}

function checkTask(task: ModelTask, stopsAll: boolean): void {
  const settled = task.status !== "settling" && task.status !== "settlingCancel";
  demand(settled, "attempts-settled", () => `${describeTask(task)} was left`, aboutTask(task));
  const stopped = task.status === "cancelling" || !(stopsAll || task.cancelAsked);
  demand(stopped, "cancel-honoured", () => `${describeTask(task)} should stop`, aboutTask(task));
}

function checkSingle(task: ModelTask, now: number): void {
  checkTask(task, isOfNoUse(task));
  demand(
    !isWaiting(task) || task.deadline < 0 || task.deadline > now,
    "expired-in-time",
    () => `${describeTask(task)} waits at ${now}, its deadline was ${task.deadline}`,
    aboutTask(task),
  );
}

/** P-12: nothing that is ready, may start and has a place is left, whatever stands before it. */
function checkWorkConserving(model: Model, now: number): void {
  const places = new Map<string, ModelWorker | undefined>();
  const admissions = new Admissions(model, now);
  const waitingForTheirs = lanesThatMayWait(model, now);
  for (const task of model.offered) {
    if (!isDue(task, now) || waitingForTheirs.has(task.laneKey) || !admissions.admits(task)) continue;
    const reserved = model.workers.some(({ reservedFor }) => reservedFor === task);
    const key = reserved ? `${task.run.number}/${task.node}` : task.needsKey;
    if (!places.has(key)) places.set(key, placeFor(model, task));
    const place = places.get(key);
    demand(
      place === undefined,
      "work-conserving",
      () => `${describeTask(task)} waits, and worker ${place?.number} could take it`,
      { ...aboutTask(task), worker: place?.number },
    );
  }
}

/** The next turn is wanted no later than time alone would let one decide something. */
export function checkWake(model: Model, now: number, wakeAt: number | undefined): void {
  const latest = Math.min(
    nextReservationAt(model, now),
    nextRoomAt(model, now),
    ...[...model.offered].map((task) => dueAt(model, task, now)),
  );
  const wake = wakeAt ?? Number.POSITIVE_INFINITY;
  demand(
    wake > now && wake <= latest,
    "wakes-in-time",
    () => `after a turn at ${now} the next is wanted at ${wake}, something falls due at ${latest}`,
  );
}

/** When time alone will do something to a task that waits. */
function dueAt(model: Model, task: ModelTask, now: number): number {
  const never = Number.POSITIVE_INFINITY;
  const expiresAt = task.deadline >= 0 ? task.deadline : never;
  if (!isDue(task, now)) return Math.min(task.since, expiresAt);
  const barriers = barriersOf(model, task, now);
  const onlyRate = barriers.size === 1 && barriers.has("rate");
  return Math.min(onlyRate ? rateFreeAt(model, task, now) : never, expiresAt);
}
