import { STATUS_NAMES, type State } from "../scheduler/index.ts";
import {
  aboutTask,
  describeTask,
  isDue,
  isEnded,
  type Model,
  type ModelRun,
  type ModelTask,
  type ModelWorker,
} from "./model.ts";
import { placeFor } from "./oracle.ts";
import { checkReservationsMade, nextReservationAt } from "./reservations.ts";
import { isToStopAll } from "./task-facts.ts";
import { demand } from "./violation.ts";

/** What must have been done by the end of a turn. */
export function checkDuties(model: Model, now: number): void {
  for (const run of model.runs.values()) if (run.outcome === undefined) checkRun(run);
  checkWorkConserving(model, now);
  checkReservationsMade(model, now);
}

function checkRun(run: ModelRun): void {
  let open = 0;
  const stopsAll = isToStopAll(run);
  for (const task of run.tasks) {
    if (isEnded(task)) continue;
    open++;
    const settled = task.status !== "settling" && task.status !== "settlingCancel";
    demand(settled, "attempts-settled", () => `${describeTask(task)} was left`, aboutTask(task));
    const stopped = task.status === "cancelling" || !(stopsAll || task.cancelAsked);
    demand(stopped, "cancel-honoured", () => `${describeTask(task)} should stop`, aboutTask(task));
    const dead = task.needs.find((need) => isEnded(need) && need.status !== "completed");
    demand(
      dead === undefined,
      "dependents-skipped",
      () => `${describeTask(task)} waits for ${describeTask(dead as ModelTask)}`,
      aboutTask(task),
    );
  }
  demand(open > 0, "run-ended", () => `all tasks of run ${run.number} have ended, it has not`, {
    run: run.number,
  });
}

/** P-12: nothing that is ready and has a place is left, whatever stands before it. */
function checkWorkConserving(model: Model, now: number): void {
  const places = new Map<string, ModelWorker | undefined>();
  for (const task of model.offered) {
    if (!isDue(task, now)) continue;
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
  const retries = [...model.offered].filter((task) => task.status === "delayed" && task.since > now);
  const latest = Math.min(nextReservationAt(model, now), ...retries.map(({ since }) => since));
  const wake = wakeAt ?? Number.POSITIVE_INFINITY;
  demand(
    wake > now && wake <= latest,
    "wakes-in-time",
    () => `after a turn at ${now} the next is wanted at ${wake}, something falls due at ${latest}`,
  );
}

/** The state that decisions are made on says the same as the model. */
export function compareStates(model: Model, state: State): void {
  demand(state.seq === model.seq, "logical-time", () => `the state is at ${state.seq}, not ${model.seq}`);
  demand(
    state.runs.size === model.runs.size && state.refused === model.refused,
    "no-work-lost",
    () => `the state has ${state.runs.size} runs, ${model.runs.size} were accepted and not forgotten`,
  );
  demand(
    state.backlog === model.backlog,
    "backlog-count",
    () => `the state counts ${state.backlog} waiting, there are ${model.backlog}`,
  );
  for (const worker of model.workers) compareWorker(state, worker);
  for (const run of model.runs.values()) compareRun(state, run);
}

function compareWorker(state: State, worker: ModelWorker): void {
  const about = { worker: worker.number };
  const other = state.worker(worker.number);
  demand(
    other.freeCpu === worker.freeCpu && other.freeMemory === worker.freeMemory,
    "resources-returned",
    () =>
      `worker ${worker.number} has ${other.freeCpu} millicores and ${other.freeMemory} bytes free, should have ${worker.freeCpu} and ${worker.freeMemory}`,
    about,
  );
  demand(
    other.held.size === worker.held.size,
    "held-count",
    () => `worker ${worker.number} holds ${other.held.size}, was given ${worker.held.size}`,
    about,
  );
  const standing = other.status === "Idle" || other.status === "Busy" ? "open" : other.status.toLowerCase();
  const busy = other.status !== (worker.held.size > 0 ? "Idle" : "Busy");
  demand(
    standing === worker.standing && busy,
    "worker-status",
    () => `worker ${worker.number} is ${other.status}, should be ${worker.standing}`,
    about,
  );
  const { reservedFor } = worker;
  const key = reservedFor ? reservedFor.run.number * 2 ** 21 + reservedFor.node : undefined;
  demand(
    other.reservedFor === key,
    "reservation-kept",
    () => `worker ${worker.number} is kept for ${other.reservedFor}, should be for ${key}`,
    about,
  );
}

function compareRun(state: State, run: ModelRun): void {
  const other = state.run(run.number);
  const counts = STATUS_NAMES.map(() => 0);
  for (const task of run.tasks) {
    const status = other.status[task.node] as number;
    (counts[status] as number)++;
    demand(
      STATUS_NAMES[status] === task.status && other.attempt[task.node] === task.attempt,
      "status",
      () => `${describeTask(task)} is ${STATUS_NAMES[status]} in the state`,
      aboutTask(task),
    );
  }
  demand(
    counts.join() === other.counts.join() && other.outcome === run.outcome,
    "status-counts",
    () => `run ${run.number} counts ${other.counts.join()}, has ${counts.join()}`,
    { run: run.number },
  );
}
