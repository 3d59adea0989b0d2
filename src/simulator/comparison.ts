import { NO_RUN } from "../placement/index.ts";
import { Result, type Run, STATUS_NAMES, type State } from "../scheduler/index.ts";
import { type Model, ofZone } from "./model.ts";
import { costOf, reservedOf, runningOf, runningUnder } from "./model-admission.ts";
import {
  aboutTask,
  describeTask,
  isWaiting,
  type ModelRun,
  type ModelTask,
  type ModelWorker,
} from "./model-tasks.ts";
import { compareAccounts } from "./recount.ts";
import { demand } from "./violation.ts";

type RunData = NonNullable<Run["data"]>;

/** The state that decisions are made on says the same as the model. */
export function compareStates(model: Model, state: State): void {
  demand(state.seq === model.seq, "logical-time", () => `the state is at ${state.seq}, not ${model.seq}`);
  demand(
    state.runs.size === model.runs.size && state.refused === model.refused,
    "no-work-lost",
    () => `the state has ${state.runs.size} runs, ${model.runs.size} were accepted and not forgotten`,
  );
  demand(
    state.singles.all.size === model.singles.size,
    "no-work-lost",
    () => `the state has ${state.singles.all.size} tasks of no run, ${model.singles.size} are open`,
  );
  const known = state.fleet.known().length;
  demand(
    known === model.sortedWorkers().length,
    "workers-remembered",
    () => `the state knows ${known} workers, should know ${model.sortedWorkers().length}`,
  );
  demand(
    state.backlog === model.backlog,
    "backlog-count",
    () => `the state counts ${state.backlog} waiting, there are ${model.backlog}`,
  );
  for (const worker of model.sortedWorkers()) compareWorker(state, worker);
  for (const task of model.given()) compareCharge(state, task);
  const charged = [...model.given()].filter(({ charge }) => charge.recharges > 0 || charge.lacks !== "");
  equal("charge", "attempts that were charged", state.charges.size, charged.length);
  for (const run of model.runs.values()) compareRun(state, run);
  for (const task of model.singles.values()) compareSingle(state, task);
  compareCounts(model, state);
  compareRooms(model, state);
  compareRecalls(model, state);
  compareKept(model, state);
  compareAccounts(state);
}

/** What workers keep for whoever may use it again, the latest last. */
function compareKept(model: Model, { cache }: State): void {
  const said = cache.toSnapshot().flatMap(([, { held, at }]) => (held ? [{ ...held, at }] : []));
  const truth = [...model.made.values()].flatMap(({ held, taskId, at }) =>
    held ? [{ chunk: `${taskId}:${held.chunk.attempt}`, holders: held.holders, at }] : [],
  );
  const names = said.map(({ chunk, holders, at }) => `${chunk} on ${holders.join("+")} at ${at}`);
  const wanted = truth.map(
    ({ chunk, holders, at }) => `${chunk} on ${holders.map(({ number }) => number).join("+")} at ${at}`,
  );
  demand(
    names.join() === wanted.join(),
    "kept-for-others",
    () => `workers keep ${names.join()}, should keep ${wanted.join()}`,
  );
}

/** What was asked for and not answered, and what was given back and not placed. */
function compareRecalls(model: Model, { fleet }: State): void {
  const said = [
    ...Array.from(fleet.recalls, ([key, { idle, at }]) => `${key} for ${idle} at ${at}`),
    ...Array.from(fleet.returned, ([key, { number }]) => `${key} by ${number}`),
  ].sort();
  const truth: string[] = [];
  for (const task of model.tasks()) {
    const { recall, returnedBy } = task;
    if (recall) truth.push(`${keyOf(task)} for ${recall.idle.number} at ${recall.at}`);
    if (returnedBy && isWaiting(task)) truth.push(`${keyOf(task)} by ${returnedBy.number}`);
  }
  demand(
    said.join() === truth.sort().join(),
    "recalls-remembered",
    () => `recalled and returned are ${said.join()}, should be ${truth.join()}`,
  );
}

function compareRooms(model: Model, state: State): void {
  const kept = [...state.roomFor].map(([zone, key]) => `${zone} ${key}`).sort();
  const truth = [...model.roomFor].map(([zone, task]) => `${zone} ${keyOf(task)}`).sort();
  demand(
    kept.join() === truth.join(),
    "room-kept",
    () => `room is kept for ${kept.join()}, should be for ${truth.join()}`,
  );
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
  const ahead = [...worker.ahead].map(keyOf).sort((a, b) => a - b);
  demand(
    [...other.ahead].sort((a, b) => a - b).join() === ahead.join(),
    "given-ahead",
    () => `worker ${worker.number} was given ${[...other.ahead].join()} ahead, should be ${ahead.join()}`,
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
  demand(
    JSON.stringify(other.pace) === JSON.stringify(worker.pace),
    "pace",
    () =>
      `worker ${worker.number} has ${JSON.stringify(other.pace)}, should have ${JSON.stringify(worker.pace)}`,
    about,
  );
  const key = worker.reservedFor && keyOf(worker.reservedFor);
  demand(
    other.reservedFor === key,
    "reservation-kept",
    () => `worker ${worker.number} is kept for ${other.reservedFor}, should be for ${key}`,
    about,
  );
}

/** As the ledger's snapshots name a task. */
function keyOf({ run, node }: ModelTask): number {
  return run.number === NO_RUN ? -2 - node : run.number * 2 ** 21 + node;
}

function compareRun(state: State, run: ModelRun): void {
  const other = state.run(run.number);
  const counts = STATUS_NAMES.map(() => 0);
  for (const task of run.tasks) {
    const status = other.status[task.node] as number;
    (counts[status] as number)++;
    compareTask(task, status, other.attempt[task.node] as number);
    if (other.data) compareResult(task, other.data);
  }
  demand(
    counts.join() === other.counts.join() && other.outcome === run.outcome,
    "status-counts",
    () => `run ${run.number} counts ${other.counts.join()}, has ${counts.join()}`,
    { run: run.number },
  );
}

/** Where its result is. */
function compareResult(task: ModelTask, data: RunData): void {
  const { node, isStored, holders, deaths, breaches } = task;
  const truth = [isStored, holders.map(({ number }) => number).join(), deaths, breaches];
  const said = [
    data.result[node] === Result.stored,
    (data.holders.get(node) ?? []).join(),
    data.deaths.get(node) ?? 0,
    data.breaches.get(node) ?? 0,
  ];
  demand(
    said.join(" ") === truth.join(" "),
    "where-results-are",
    () =>
      `the result of ${describeTask(task)} is ${said.join(" ")} in the state, should be ${truth.join(" ")}`,
    aboutTask(task),
  );
}

function compareSingle(state: State, task: ModelTask): void {
  const single = state.singles.all.get(task.node);
  demand(single !== undefined, "no-work-lost", () => `${describeTask(task)} is gone`, aboutTask(task));
  compareTask(task, single.status, single.attempt);
  demand(
    single.reservedMicros === task.reservedMicros,
    "credits",
    () => `${describeTask(task)} has ${single.reservedMicros} reserved, should have ${task.reservedMicros}`,
    aboutTask(task),
  );
}

/** What was recharged, and what is lacking. */
function compareCharge(state: State, task: ModelTask): void {
  const { recharges, amounts, lacks } = task.charge;
  const charge = state.charges.get(keyOf(task));
  demand(
    (charge?.recharges ?? 0) === recharges &&
      (charge?.lacks ?? "") === lacks &&
      (charge?.amounts ?? amounts).join() === amounts.join(),
    "charge",
    () => `${describeTask(task)} has ${JSON.stringify(charge)}, should have ${JSON.stringify(task.charge)}`,
    aboutTask(task),
  );
}

function compareTask(task: ModelTask, status: number, attempt: number): void {
  demand(
    STATUS_NAMES[status] === task.status && attempt === task.attempt,
    "status",
    () => `${describeTask(task)} is ${STATUS_NAMES[status]} in the state`,
    aboutTask(task),
  );
}

/** Whatever is counted as it goes equals what is there when it is counted anew. */
function compareCounts(model: Model, state: State): void {
  const agents = new Map<string, ModelTask>();
  const limited = new Map<string, ModelTask>();
  for (const task of model.tasks()) {
    agents.set(ofZone(task.zone, task.agent), task);
    if (task.spec.limits.length > 0) limited.set(task.groupKey, task);
  }
  for (const { zone, agent } of agents.values()) {
    const key = JSON.stringify([zone, agent]);
    equal("share-count", `running of ${key}`, state.shares.running(key), runningOf(model, zone, agent));
    const balance = model.credits.get(ofZone(zone, agent)) ?? 0;
    equal("credits", `credits of ${key}`, state.credits.balance(key), balance);
    equal("credits", `reserved of ${key}`, state.credits.reserved(key), reservedOf(model, zone, agent));
    const cost = state.costs.get(key)?.sum(model.now) ?? 0;
    equal("cost", `cost of ${key}`, cost, costOf(model, zone, agent, model.now));
  }
  for (const { zone, spec } of limited.values()) {
    for (const name of spec.limits) {
      // There is none where nobody configured one.
      const limit = state.limits.get(JSON.stringify([zone, name]));
      if (limit)
        equal(
          "limit-count",
          `running under ${name} in ${zone}`,
          limit.running,
          runningUnder(model, zone, name),
        );
    }
  }
  const counted = state.shares.toSnapshot().running.reduce((sum, [, running]) => sum + running, 0);
  equal("share-count", "running in all", counted, [...model.placed()].length);
  for (const [zone, totals] of model.totals) {
    const counted = state.totals.get(zone);
    for (const how of ["completed", "failed", "cancelled"] as const) {
      equal("ended-once", `${how} in ${zone}`, counted?.[how] ?? 0, totals[how]);
    }
  }
}

function equal(invariant: string, what: string, found: number, truth: number): void {
  demand(found === truth, invariant, () => `${what}: the state says ${found}, ${truth} is true`);
}
