import { hasOpenWorker } from "./able-workers.ts";
import type { Model } from "./model.ts";
import { amountOf, barriersOf, fitsAtAll, mostOf, runningUnder } from "./model-admission.ts";
import { aboutTask, describeTask, isDue, type ModelTask } from "./model-tasks.ts";
import { Ranking } from "./ranking.ts";
import { demand } from "./violation.ts";

/** Room under its limits is kept only for the first of those that smaller tasks went ahead of for too long. */
export function checkRoomReserved(model: Model, task: ModelTask, now: number): void {
  const due = overdueForRoom(model, now).filter(({ zone }) => zone === task.zone);
  demand(
    due[0] === task,
    "room-order",
    () => `room is kept for ${describeTask(task)}, ${due[0] ? describeTask(due[0]) : "nobody"} comes first`,
    aboutTask(task),
  );
}

/** After a turn: nobody who should have room kept lacks it. */
export function checkRoomsReserved(model: Model, now: number): void {
  const [left] = overdueForRoom(model, now);
  demand(
    left === undefined,
    "room-due",
    () => `${left && describeTask(left)} waits since ${left?.since} and no room is kept for it`,
    left && aboutTask(left),
  );
}

/** When room should be kept for the next, if nothing else happens. */
export function nextRoomAt(model: Model, now: number): number {
  return Math.min(
    Number.POSITIVE_INFINITY,
    ...wanting(model, now)
      .map((task) => overdueAt(model, task))
      .filter((at) => at > now),
  );
}

function overdueForRoom(model: Model, now: number): ModelTask[] {
  return new Ranking(model, now).sequence(
    wanting(model, now).filter((task) => overdueAt(model, task) <= now),
  );
}

/** After it has waited, and not soon after another had room kept. */
function overdueAt(model: Model, { since, spec, zone }: ModelTask): number {
  const waitMs = Math.max(model.config?.reserveAfterMs ?? 0, spec.estimateMs, 1);
  return Math.max(since + waitMs, model.roomAgainAt.get(zone) ?? 0);
}

/** Those for whom room could be kept: only that keeps them from starting, and others that need less go ahead. */
function wanting(model: Model, now: number): ModelTask[] {
  return new Ranking(model, now).firstsOfGroups().filter((task) => {
    if (model.roomFor.has(task.zone) || !isDue(task, now)) return false;
    const barriers = barriersOf(model, task, now);
    const lacksOnlyRoom = barriers.size === 1 && barriers.has("room");
    return (
      lacksOnlyRoom &&
      fitsAtAll(model, task) &&
      hasOpenWorker(model, task) &&
      isPassedOver(model, task) &&
      !isInTheWay(model, task)
    );
  });
}

function isPassedOver(model: Model, task: ModelTask): boolean {
  const lacking = task.spec.limits.filter(
    (name) => runningUnder(model, task.zone, name) + amountOf(task, name) > mostOf(model, task.zone, name),
  );
  for (const other of model.tasks()) {
    if (other.zone !== task.zone || other.run.outcome !== undefined) continue;
    for (const name of lacking) {
      const amount = amountOf(other, name);
      if (amount > 0 && amount < amountOf(task, name)) return true;
    }
  }
  return false;
}

/** A worker is kept free for a task under the same limits. */
function isInTheWay(model: Model, task: ModelTask): boolean {
  return model.workers.some(
    ({ reservedFor }) =>
      reservedFor?.zone === task.zone &&
      reservedFor.spec.limits.some((name) => task.spec.limits.includes(name)),
  );
}
