import type { LedgerEvent, TaskRecalled } from "../ledger/index.ts";
import { heldInputs } from "./data-oracle.ts";
import type { Model } from "./model.ts";
import { barriersOf } from "./model-admission.ts";
import { isHeldBy } from "./model-data.ts";
import { aboutTask, describeTask, type ModelTask, type ModelWorker } from "./model-tasks.ts";
import { obstacleOf, preference } from "./oracle.ts";
import { inSlots } from "./places.ts";
import { demand } from "./violation.ts";

/** What it must save, in microseconds; and beyond the moving of inputs, where there are any to be moved. */
const CHANGE_MICROS = 100_000;
const CHANGE_WITH_DATA_MICROS = 250_000;
/** So long an idle worker waits for one that does not answer. */
const PATIENCE_MS = 1_000;
const MOST_RETURNS = 8;
const LOOKED_AT = 64;

/** How fast a worker has been since it last had nothing. */
export interface ModelPace {
  since: number;
  ended: number;
  movedAt: number;
}

export function noteGiven(worker: ModelWorker, now: number): void {
  if (worker.spec.givesBack && inSlots(worker).length === 0)
    worker.pace = { since: now, ended: 0, movedAt: now };
}

/** What lies back by more than 256 ends counts for half. */
export function noteEnded({ pace }: ModelWorker, now: number): void {
  if (!pace) return;
  pace.ended++;
  pace.movedAt = now;
  if (pace.ended < 256) return;
  pace.ended = 128;
  pace.since = now - Math.floor((now - pace.since) / 2);
}

function microsPerEnd({ pace }: ModelWorker): number {
  if (!pace || pace.ended < 4) return 0;
  return Math.min(Math.floor((1_000 * (pace.movedAt - pace.since)) / pace.ended), 60_000_000);
}

/** Whom a turn must ask for what, after everything else: of each crowded worker, in the order of ids. */
export function expectedRecalls(model: Model, now: number): TaskRecalled[] {
  const open = [...model.given()].filter(({ recall }) => recall !== undefined);
  const silent = new Set(open.map(({ worker }) => worker));
  const promised = new Set<ModelWorker>();
  for (const { recall } of open) if (recall && now - recall.at < PATIENCE_MS) promised.add(recall.idle);
  const all: TaskRecalled[] = [];
  for (const worker of model.sortedWorkers()) {
    if (!isCrowded(worker) || silent.has(worker)) continue;
    const { recalled, idle } = recallsFrom(model, worker, promised, now);
    all.push(...recalled);
    if (idle) promised.add(idle);
  }
  return all;
}

function isCrowded(worker: ModelWorker): boolean {
  const { spec, standing } = worker;
  const isThere = standing === "open" || standing === "overloaded";
  return spec.givesBack === true && isThere && inSlots(worker).length > spec.slots;
}

interface Found {
  readonly recalled: readonly TaskRecalled[];
  readonly idle: ModelWorker | undefined;
}

/** Of what waits there at most half, the last first, all for one worker. */
function recallsFrom(
  model: Model,
  worker: ModelWorker,
  promised: ReadonlySet<ModelWorker>,
  now: number,
): Found {
  const queue = inSlots(worker);
  const { slots } = worker.spec;
  const recalled: TaskRecalled[] = [];
  const taken: ModelTask[] = [];
  let idle: ModelWorker | undefined;
  for (let at = queue.length - 1; at >= slots && queue.length - at <= LOOKED_AT; at--) {
    const task = queue[at] as ModelTask;
    if (2 * taken.length >= queue.length - slots || !mayReturn(model, task, now)) continue;
    const to = idle ?? idleFor(model, task, promised);
    if (!to || !hasRoom(model, to, task, taken)) continue;
    const terms = termsOf(model, worker, to, task, { behind: at - slots, with: taken.length, now });
    const leastMicros = terms.moveMicros > 0 ? CHANGE_WITH_DATA_MICROS : CHANGE_MICROS;
    if (terms.waitMicros - terms.queueMicros - terms.moveMicros <= leastMicros) continue;
    idle = to;
    taken.push(task);
    const attempt = { ...aboutTask(task), attempt: task.attempt };
    recalled.push({ kind: "TaskRecalled", ...attempt, worker: worker.number, idle: to.number, ...terms });
  }
  return { recalled, idle };
}

function mayReturn(model: Model, task: ModelTask, now: number): boolean {
  const { status, uncounted, spec, charge, deadline, readers } = task;
  return (
    status === "assigned" &&
    uncounted < MOST_RETURNS &&
    spec.limits.length === 0 &&
    !spec.io &&
    charge.recharges === 0 &&
    charge.lacks === "" &&
    (deadline < 0 || deadline > now + PATIENCE_MS) &&
    !readers.some(({ isAhead }) => isAhead) &&
    !barriersOf(model, task, now).has("pause")
  );
}

/** Of those with a slot free, the one that would get it. */
function idleFor(model: Model, task: ModelTask, promised: ReadonlySet<ModelWorker>): ModelWorker | undefined {
  const idle = model
    .sortedWorkers()
    .filter((worker) => inSlots(worker).length < worker.spec.slots && !promised.has(worker))
    .filter((worker) => obstacleOf(model, worker, task) === undefined);
  return idle.sort(preference(model, task))[0];
}

function hasRoom(model: Model, idle: ModelWorker, task: ModelTask, taken: readonly ModelTask[]): boolean {
  const sum = (of: (one: ModelTask) => number) => taken.reduce((all, one) => all + of(one), of(task));
  const serves = obstacleOf(model, idle, task);
  return (
    (serves === undefined || serves === "cpu" || serves === "memory") &&
    inSlots(idle).length + taken.length < idle.spec.slots + model.settings.maxQueuePerWorker &&
    sum(({ spec }) => spec.cpuMillicores) <= idle.freeCpu &&
    sum(({ spec }) => spec.memoryBytes) <= idle.freeMemory
  );
}

function termsOf(
  model: Model,
  worker: ModelWorker,
  idle: ModelWorker,
  task: ModelTask,
  place: { readonly behind: number; readonly with: number; readonly now: number },
): Pick<TaskRecalled, "waitMicros" | "queueMicros" | "moveMicros"> {
  const micros = microsPerEnd(worker);
  const still = 1_000 * Math.max(0, place.now - Math.max(worker.pace?.movedAt ?? 0, task.assignedAt));
  const before = Math.max(0, inSlots(idle).length + place.with + 1 - idle.spec.slots);
  const { perInput, perKib } = model.settings.transferRates ?? { perInput: 1_000, perKib: 10 };
  const lacks = heldInputs(task).filter((input) => !isHeldBy(input, idle));
  const bytes = lacks.reduce((sum, { resultBytes }) => sum + resultBytes, 0);
  return {
    waitMicros: Math.max(still, micros) + place.behind * micros,
    queueMicros: Math.floor((before * micros * worker.spec.slots) / idle.spec.slots),
    moveMicros: lacks.length * perInput + Math.floor((bytes * perKib) / 1024),
  };
}

/** A worker was asked for what it must be asked for. Nothing has happened to the task by that. */
export function takeRecall(model: Model, event: TaskRecalled, now: number): void {
  const task = model.taskAt(event);
  demand(
    task.status === "assigned" && task.attempt === event.attempt && task.worker?.number === event.worker,
    "recalled-where-it-waits",
    () => `${describeTask(task)} was recalled from worker ${event.worker}`,
    aboutTask(task),
  );
  demand(
    task.recall === undefined,
    "recalled-once",
    () => `${describeTask(task)} was recalled twice`,
    aboutTask(task),
  );
  task.recall = { idle: model.workerAt(event.idle), at: now };
}

/** What a turn asked for is what it had to ask for. */
export function checkRecalls(recorded: readonly LedgerEvent[], expected: readonly TaskRecalled[]): void {
  const said = (all: readonly LedgerEvent[]) => all.map(textOf).join("; ");
  demand(
    said(recorded) === said(expected),
    "recalled-if-it-pays",
    () => `asked for: ${said(recorded) || "nothing"}; to be asked for: ${said(expected) || "nothing"}`,
  );
}

function textOf(event: LedgerEvent): string {
  if (event.kind !== "TaskRecalled") return event.kind;
  const { run, node, attempt, worker, idle, waitMicros, queueMicros, moveMicros } = event;
  return `${run}/${node}#${attempt} from ${worker} for ${idle} (${waitMicros}, ${queueMicros}, ${moveMicros})`;
}

/** Nothing pays before the next turn is wanted; far ahead is soon enough to look. */
export function checkRecallWake(model: Model, now: number, wakeAt: number | undefined): void {
  const before = Math.min((wakeAt ?? Number.POSITIVE_INFINITY) - 1, now + 60_000);
  if (before <= now) return;
  const [missed] = expectedRecalls(model, before);
  demand(
    missed === undefined,
    "wakes-for-recalls",
    () => `the next turn is wanted at ${wakeAt}, at ${before} is to be asked for ${missed && textOf(missed)}`,
  );
}
