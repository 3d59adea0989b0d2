import { hasBit, lowestBit } from "../core/index.ts";
import type { TaskRecalled } from "../ledger/index.ts";
import {
  choose,
  DEFAULT_RATES,
  type Fleet,
  type Inputs,
  moveMicros,
  NO_RUN,
  nearestOf,
  nodeOfKey,
  type Pace,
  paceMicros,
  runOfKey,
  type TaskKey,
  type Worker,
} from "../placement/index.ts";
import { isPaused } from "./admission.ts";
import { subjectOf } from "./choice.ts";
import type { Emit } from "./dispatch.ts";
import { inputsOnWorkers } from "./locality.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** What a recall has to save beyond what moving the inputs takes, in microseconds: it is two messages and two commits. */
const RECALL_MICROS = 100_000;
/** The same where inputs have to be moved: a queue of short tasks, which is over by then, is not worth it. */
const RECALL_WITH_DATA_MICROS = 250_000;
/** How long an idle worker waits for what was asked for in its name before others are asked. */
const PATIENCE_MS = 1_000;
/** What has come back so often stays where it is. */
const MAX_RETURNS = 8;
/** So many of a queue are looked at, from its end. */
const LOOKED_AT = 64;

/**
 * Asks workers to give back what waits there, where another stands idle and nothing is ready for it: of what one has queued
 * up to half, the last first, as long as each begins sooner elsewhere by more than the change costs.
 *
 * Nothing is moved by this. The worker says what it had not begun, and that is placed like anything else. One that does not
 * answer is not asked again, and keeps nobody from asking others.
 */
export function recallQueued(state: State, now: number, emit: Emit): void {
  if (!someCouldMove(state.fleet)) return;
  const asked = askedBefore(state, now);
  for (const worker of crowdedWorkers(state.fleet)) {
    if (asked.workers.has(worker.number) || soonestPay(worker) > now) continue;
    const recalled = recallsFrom(state, worker, asked, now);
    for (const event of recalled) emit(event);
    for (const { idle } of recalled) asked.idle.add(idle);
  }
}

/** When it could pay to ask, if nothing else happens. */
export function nextRecallAt(state: State, after: number): number {
  let at = Number.POSITIVE_INFINITY;
  if (!someCouldMove(state.fleet)) return at;
  const asked = askedBefore(state, after);
  for (const recall of state.fleet.recalls.values())
    if (recall.at + PATIENCE_MS > after) at = Math.min(at, recall.at + PATIENCE_MS);
  for (const worker of crowdedWorkers(state.fleet)) {
    if (asked.workers.has(worker.number)) continue;
    const soonest = soonestPay(worker);
    at = Math.min(at, soonest > after ? soonest : paysAt(state, worker, asked, after));
  }
  return at;
}

function someCouldMove(fleet: Fleet): boolean {
  fleet.settle();
  const { crowded, vacant, open } = fleet;
  let isCrowded = false;
  let isVacant = false;
  for (let word = 0; word < crowded.length; word++) {
    isCrowded ||= crowded[word] !== 0;
    isVacant ||= ((vacant[word] as number) & (open[word] as number)) !== 0;
  }
  return isCrowded && isVacant;
}

/** In the order of their ids. */
function* crowdedWorkers({ crowded, sorted }: Fleet): Generator<Worker> {
  for (const [word, all] of [...crowded].entries())
    for (let bits = all; bits !== 0; bits &= bits - 1) yield sorted[(word << 5) | lowestBit(bits)] as Worker;
}

/** Those that have not answered, and those in whose name they were asked lately. */
interface Asked {
  readonly workers: Set<number>;
  readonly idle: Set<number>;
}

function askedBefore(state: State, now: number): Asked {
  const asked: Asked = { workers: new Set(), idle: new Set() };
  for (const [key, { idle, at }] of state.fleet.recalls) {
    asked.workers.add(state.tasks(runOfKey(key)).workerOf(nodeOfKey(key)));
    if (now - at < PATIENCE_MS) asked.idle.add(idle);
  }
  return asked;
}

/** A task that waits in a worker's queue. */
interface Queued {
  readonly key: TaskKey;
  readonly tasks: Tasks;
  readonly node: number;
  /** How many stand before it beyond those that can run. */
  readonly behind: number;
}

/** What may be given back, the last first. */
function* queuedAt(state: State, worker: Worker, now: number): Generator<Queued> {
  const { slots } = worker.spec;
  const keys: TaskKey[] = [];
  for (const [key, { io }] of worker.held) if (!io) keys.push(key);
  for (let at = keys.length - 1; at >= Math.max(slots, keys.length - LOOKED_AT); at--) {
    const key = keys[at] as TaskKey;
    const [tasks, node] = [state.tasks(runOfKey(key)), nodeOfKey(key)];
    if (mayReturn(state, tasks, node, key, now)) yield { key, tasks, node, behind: at - slots };
  }
}

/** It loses nothing by it: neither a place under limits, nor a recharge, nor what follows it, nor its last chance. */
function mayReturn(state: State, tasks: Tasks, node: number, key: TaskKey, now: number): boolean {
  if (tasks.statusOf(node) !== Status.assigned || tasks.uncountedOf(node) >= MAX_RETURNS) return false;
  // Where it goes it might take no slot, and how long that takes is not known.
  if (tasks.taskOf(node).io) return false;
  const group = tasks.groupOf(node);
  if (group.limits.length > 0 || state.charges.has(key) || isPaused(state, group)) return false;
  if (tasks.number !== NO_RUN) return !state.run(tasks.number).data?.followers.has(node);
  const { deadline } = state.singles.get(node);
  return deadline === -1 || deadline > now + PATIENCE_MS;
}

function recallsFrom(state: State, worker: Worker, asked: Asked, now: number): TaskRecalled[] {
  const recalled: TaskRecalled[] = [];
  const most = Math.ceil((worker.inSlots - worker.spec.slots) / 2);
  let room: Room | undefined;
  for (const queued of queuedAt(state, worker, now)) {
    if (recalled.length === most) break;
    const inputs = inputsOf(state, queued, now);
    const to = room ?? roomFor(state, queued, inputs, asked);
    if (!to?.takes(queued.tasks, queued.node)) continue;
    const terms = { ...waitAt(worker, queued, now), ...to.costOf(state, worker, inputs) };
    if (terms.waitMicros - terms.queueMicros <= changeMicros(terms)) continue;
    room = to;
    room.promise(queued.tasks, queued.node);
    const { tasks, node } = queued;
    const attempt = tasks.attemptOf(node);
    const about = { run: tasks.number, node, attempt, worker: worker.number, idle: to.worker.number };
    recalled.push({ kind: "TaskRecalled", ...about, ...terms });
  }
  return recalled;
}

/** What a change of place has to save. */
function changeMicros({ moveMicros }: Pick<TaskRecalled, "moveMicros">): number {
  return moveMicros + (moveMicros === 0 ? RECALL_MICROS : RECALL_WITH_DATA_MICROS);
}

/** What an idle worker can still take of what others give back for it. */
class Room {
  readonly worker: Worker;
  readonly #fleet: Fleet;
  #places: number;
  #cpu: number;
  #memory: number;
  #promised = 0;

  constructor(fleet: Fleet, worker: Worker) {
    this.#fleet = fleet;
    this.worker = worker;
    this.#places = worker.spec.slots + fleet.config.maxQueuePerWorker - worker.inSlots;
    this.#cpu = worker.freeCpu;
    this.#memory = worker.freeMemory;
  }

  takes(tasks: Tasks, node: number): boolean {
    const { demand } = tasks.groupOf(node).pool;
    const { cpuMillicores, memoryBytes } = demand.needs;
    if (this.#places === 0 || cpuMillicores > this.#cpu || memoryBytes > this.#memory) return false;
    this.#fleet.refresh(demand);
    return hasBit(demand.serves, this.#fleet.ordinalOf(this.worker));
  }

  promise(tasks: Tasks, node: number): void {
    const { cpuMillicores, memoryBytes } = tasks.taskOf(node);
    this.#places--;
    this.#cpu -= cpuMillicores;
    this.#memory -= memoryBytes;
    this.#promised++;
  }

  /** The next begins behind those that were promised, which take as long as where they are. */
  costOf(
    { config }: State,
    from: Worker,
    inputs: Inputs | undefined,
  ): Pick<TaskRecalled, "queueMicros" | "moveMicros"> {
    const { inSlots, spec } = this.worker;
    const before = Math.max(0, inSlots + this.#promised - spec.slots + 1);
    const queueMicros = Math.floor((before * paceMicros(from.pace as Pace) * from.spec.slots) / spec.slots);
    const rates = config.transferRates ?? DEFAULT_RATES;
    return { queueMicros, moveMicros: inputs ? moveMicros(this.worker, inputs, rates) : 0 };
  }
}

/** The worker that would get it if a slot were needed at once, of those that nobody was asked for. */
function roomFor(
  state: State,
  { key, tasks, node }: Queued,
  inputs: Inputs | undefined,
  { idle }: Asked,
): Room | undefined {
  const { fleet, candidates, config } = state;
  const { pool } = tasks.groupOf(node);
  candidates.find(fleet, pool.demand, key, true);
  for (const number of idle) candidates.passOver(fleet.ordinalOf(state.worker(number)));
  if (candidates.count === 0) return undefined;
  const rates = config.transferRates ?? DEFAULT_RATES;
  const { worker } = inputs
    ? nearestOf(fleet, candidates, inputs, rates)
    : choose(fleet, candidates, subjectOf(state, tasks, node));
  return new Room(fleet, worker);
}

function inputsOf(state: State, { tasks, node }: Queued, now: number): Inputs | undefined {
  const run = state.runs.get(tasks.number);
  return run && inputsOnWorkers(run, node, now);
}

/**
 * Until it begins where it is. Those before it take as long as others took; where nothing has ended for longer than that,
 * what runs is expected to run as long again.
 */
function waitAt(
  { pace }: Worker,
  { tasks, node, behind }: Queued,
  now: number,
): Pick<TaskRecalled, "waitMicros"> {
  const micros = paceMicros(pace as Pace);
  const stillMicros = 1000 * Math.max(0, now - stillSince(pace as Pace, tasks, node));
  return { waitMicros: Math.max(stillMicros, micros) + behind * micros };
}

/** Since when it has waited there without an end of anything. */
function stillSince({ movedAt }: Pace, tasks: Tasks, node: number): number {
  return Math.max(movedAt, tasks.sinceOf(node));
}

/** No recall from it pays before this time. */
function soonestPay({ pace, inSlots, spec }: Worker): number {
  const { movedAt } = pace as Pace;
  const micros = paceMicros(pace as Pace);
  const behind = inSlots - 1 - spec.slots;
  if ((behind + 1) * micros > RECALL_MICROS) return movedAt;
  return movedAt + Math.floor((RECALL_MICROS - behind * micros) / 1000) + 1;
}

/** When the first of what it has queued would pay, beyond those that do. */
function paysAt(state: State, worker: Worker, asked: Asked, after: number): number {
  const pace = worker.pace as Pace;
  let first = Number.POSITIVE_INFINITY;
  for (const queued of queuedAt(state, worker, after)) {
    const inputs = inputsOf(state, queued, after);
    const room = roomFor(state, queued, inputs, asked);
    if (!room) continue;
    const cost = room.costOf(state, worker, inputs);
    const lacking = cost.queueMicros + changeMicros(cost) - queued.behind * paceMicros(pace);
    const at = stillSince(pace, queued.tasks, queued.node) + Math.floor(lacking / 1000) + 1;
    if (at > after) first = Math.min(first, at);
  }
  return first;
}
