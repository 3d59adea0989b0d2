import { clearBit, invariant } from "../core/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import {
  type Choice,
  choose,
  firstOpening,
  nodeOfKey,
  type Opening,
  runOfKey,
  type TaskKey,
  taskKey,
} from "../placement/index.ts";
import type { Entry } from "../queue/index.ts";
import { isAdmitted, mayRun, nextAdmissionAt } from "./admission.ts";
import { chooseFor, subjectOf } from "./choice.ts";
import { contestOf } from "./contest.ts";
import type { Group, Pool } from "./group.ts";
import { Lane } from "./lane.ts";
import { keyOf, type Offer, offerOf, tasksOf } from "./offer.ts";
import { outlookOf } from "./outlook.ts";
import { nextRecallAt } from "./recalls.ts";
import { fitsAtAll, hasWorker, isPassedOver, keepRoom, lacksOnlyRoom, meetsReserved } from "./room.ts";
import type { Run } from "./run.ts";
import { speculationFor } from "./speculated.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";
import { findTakers, mayBeMet, Prospects } from "./takers.ts";
import type { Tasks } from "./tasks.ts";

/** Records an event and applies it to the state. */
export type Emit = (event: LedgerEvent) => void;

/**
 * Give ready tasks to workers until none fits.
 *
 * Tasks that a worker is kept free for go first. Then the groups that may start something are tried in the order
 * of their first tasks; where the first of a pool finds no worker, the pool is passed over as a whole, and what
 * stands behind it goes ahead. Assigning can end a reservation, which frees a worker for a pool that was passed
 * over: then all begins anew, so that nothing goes before it that should not.
 */
export function dispatch(state: State, now: number, emit: Emit): void {
  state.offerDue(now);
  state.arrangeRuns(now);
  keepRoom(state);
  const { fleet } = state;
  for (let relief = -1; relief !== fleet.relief; ) {
    relief = fleet.relief;
    placeReserved(state, now, emit);
    placeGroups(state, now, emit);
  }
  makeReservations(state, now, emit);
  reserveRoom(state, now, emit);
}

function placeReserved(state: State, now: number, emit: Emit): void {
  if (state.fleet.reservations.size === 0 && state.roomFor.size === 0) return;
  const keys = new Set([...state.fleet.reservations.keys(), ...state.roomFor.values()]);
  for (const key of [...keys].sort((a, b) => a - b)) {
    const tasks = state.tasks(runOfKey(key));
    const group = tasks.groupOf(nodeOfKey(key));
    if (isAdmitted(state, group, now, key)) tryPlace(state, group.pool, tasks, nodeOfKey(key), now, emit);
  }
}

/** After so many in a row a limit is reached that most of the rest count towards: they go together. */
const MANY_REFUSED = 4;

function placeGroups(state: State, now: number, emit: Emit): void {
  const { relief } = state.fleet;
  let refused = 0;
  const offers = admittedOffers(state, now);
  if (offers.length === 0) return;
  const prospects = new Prospects(state, now);
  const contest = contestOf(state, now, offers, (offer) => prospects.canStart(offer));
  state.specimens.contest = contest;
  state.specimens.prospects = prospects;
  for (let offer = contest.first(); offer; offer = contest.first()) {
    const { group, first, node } = offer;
    if (!mayBeMet(state, group.pool)) {
      // What was tried before it has taken the room. It will be the same for many: they go together.
      contest.keep((other) => mayBeMet(state, other.group.pool));
      continue;
    }
    if (!isAdmitted(state, group, now)) {
      if (++refused % MANY_REFUSED > 0) contest.drop();
      else contest.keep((other) => isAdmitted(state, other.group, now));
      continue;
    }
    refused = 0;
    const placed =
      trySpeculate(state, offer, now, emit) ||
      tryPlace(state, group.pool, tasksOf(state, first), node, now, emit);
    if (state.fleet.relief !== relief) return;
    if (placed) {
      prospects.noteGiven(group);
      contest.advance();
    } else contest.drop();
  }
}

/** Tries a node in several alternatives, where that is called for and there is room for all of them at once. */
function trySpeculate(state: State, { group, first }: Offer, now: number, emit: Emit): boolean {
  if (!state.config.speculation || !(first instanceof Lane)) return false;
  const { run, node } = first;
  const decision = speculationFor(state, run, node, now);
  if (!decision) return false;
  const from = state.nextTask;
  emit({ kind: "TaskSpeculated", run: run.number, node, first: from, ...decision });
  for (let number = from; number < from + decision.count; number++) {
    state.candidates.find(state.fleet, group.pool.demand, taskKey(state.singles.number, number), true);
    invariant(state.candidates.count > 0, "there is room for every alternative before the first is placed");
    group.pool.blockedAt = -1;
    place(state, state.singles, number, now, emit);
  }
  return true;
}

function admittedOffers(state: State, now: number): Offer[] {
  const offers: Offer[] = [];
  for (const pool of state.pools.values()) {
    if (!mayBeMet(state, pool)) continue;
    for (const group of pool.groups.values()) {
      if (group.line.size === 0 || !isAdmitted(state, group, now)) continue;
      offers.push(offerOf(state, group, now));
    }
  }
  return offers;
}

function tryPlace(state: State, pool: Pool, tasks: Tasks, node: number, now: number, emit: Emit): boolean {
  if (!findTakers(state, pool, taskKey(tasks.number, node))) return false;
  const run = state.runs.get(tasks.number);
  if (run?.data?.territories.isRoot(node)) return placeRoot(state, run, node, now, emit);
  place(state, tasks, node, now, emit);
  return true;
}

/** The worker that would get it takes another root of the same kind, whose result is used with those that it made. */
function placeRoot(state: State, run: Run, node: number, now: number, emit: Emit): boolean {
  const { fleet, candidates } = state;
  const { pool } = run.groupOf(node);
  // What is made again, and what is tried again, goes where there is room; and so does what room is kept for.
  if (run.attemptOf(node) > 0 || isKeptFor(state, run, node)) {
    place(state, run, node, now, emit);
    return true;
  }
  const outlook = outlookOf(state, run, pool.demand.needs, now);
  const rejected = candidates.rejected();
  const subject = subjectOf(state, run, node);
  let isLeft = false;
  for (; candidates.count > 0; candidates.count--) {
    const { worker, runnerUp, reason } = choose(fleet, candidates, subject);
    const root = run.data?.territories.next(run.laneOf(node), worker.number, outlook);
    if (typeof root === "number") {
      const because = { type: "Affinity", because: "SharedConsumer" } as const;
      const choice = { worker, runnerUp, reason: root === node ? reason : because };
      assign(emit, run, root, choice, rejected);
      return true;
    }
    isLeft ||= root === "left";
    clearBit(candidates.set, fleet.ordinalOf(worker));
  }
  if (isLeft && mayWait(run, node)) return false;
  findTakers(state, pool, taskKey(run.number, node));
  place(state, run, node, now, emit);
  return true;
}

function isKeptFor({ fleet, roomFor }: State, run: Run, node: number): boolean {
  const key = taskKey(run.number, node);
  return fleet.reservations.has(key) || roomFor.get(run.zone) === key;
}

/** How long a root may take, in microseconds, for its worker to be waited for. */
const WAIT_MICROS = 50_000;

/** Where a root takes long, or holds up others, an idle worker costs more than a result that has to be brought. */
function mayWait(run: Run, node: number): boolean {
  const { group } = run.laneOf(node);
  return group.line.size === 1 && (run.data?.times.get(run.taskOf(node).type) ?? 0) <= WAIT_MICROS;
}

/** Gives it to one of those that were found for it. */
function place(state: State, tasks: Tasks, node: number, now: number, emit: Emit): void {
  const choice = chooseFor(state, tasks, node, now);
  assign(emit, tasks, node, choice, state.candidates.rejected());
}

function assign(
  emit: Emit,
  tasks: Tasks,
  node: number,
  { worker, reason, runnerUp }: Choice,
  rejected: readonly number[],
): void {
  emit({
    kind: "TaskAssigned",
    run: tasks.number,
    node,
    attempt: tasks.attemptOf(node) + 1,
    worker: worker.number,
    reason,
    runnerUp: runnerUp?.number ?? -1,
    rejected,
  });
}

/**
 * Keep a worker free for what was passed over too long: one for each executor and zone, and only for the first
 * of a group. Without this, small tasks could fill every gap that a large one waits for. Where all needs are the
 * same nothing can be passed over, and waiting long only means that there is much to do.
 */
function makeReservations(state: State, now: number, emit: Emit): void {
  const { fleet } = state;
  // Each has a place, and where none has another's nothing can be passed over.
  if (state.pools.size === state.places.size) return;
  const open = new Set<string>();
  for (const [place, pools] of state.places) if (pools > 1) open.add(place);
  for (const key of fleet.reservations.keys()) open.delete(placeOf(state, key));
  for (let next = nextToReserve(state, open, now); next; next = nextToReserve(state, open, now)) {
    open.delete(next.offer.group.pool.place);
    const { first, node } = next.offer;
    const { worker, freeAt } = next.opening;
    const { number } = tasksOf(state, first);
    emit({ kind: "ReservationMade", run: number, node, worker: worker.number, freeAt });
  }
}

/** The first of those that have waited for too long in these places, and for whom there is a worker to keep free. */
function nextToReserve(
  state: State,
  places: ReadonlySet<string>,
  now: number,
): { readonly offer: Offer; readonly opening: Opening } | undefined {
  if (places.size === 0) return undefined;
  const overdue = overdueOffers(state, places, now);
  if (overdue.length === 0) return undefined;
  const contest = contestOf(state, now, overdue, () => true);
  for (let offer = contest.first(); offer; offer = contest.first()) {
    const opening = firstOpening(state.fleet, offer.group.pool.demand, now);
    if (opening) return { offer, opening };
    contest.drop();
  }
  return undefined;
}

function overdueOffers(state: State, places: ReadonlySet<string>, now: number): Offer[] {
  const overdue: Offer[] = [];
  for (const pool of state.pools.values()) {
    if (!places.has(pool.place)) continue;
    for (const group of pool.groups.values()) {
      if (group.line.size === 0 || !mayRun(state, group)) continue;
      const offer = offerOf(state, group, now);
      if (now < overdueAt(state, offer.first) || !isAdmitted(state, group, now, keyOf(state, offer)))
        continue;
      overdue.push(offer);
    }
  }
  return overdue;
}

function overdueAt(state: State, first: Entry): number {
  return tasksOf(state, first).sinceOf(first.node) + state.config.reserveAfterMs;
}

/** Keep room under its limits for what smaller tasks went ahead of for too long: for one task of each zone. */
function reserveRoom(state: State, now: number, emit: Emit): void {
  if (state.limits.size === 0) return;
  const offers: Offer[] = [];
  for (const group of limitedGroups(state, now)) {
    const offer = offerOf(state, group, now);
    if (now >= roomOverdueAt(state, offer) && mayHaveRoomKept(state, group)) offers.push(offer);
  }
  if (offers.length === 0) return;
  const contest = contestOf(state, now, offers, () => true);
  for (let offer = contest.first(); offer; offer = contest.first()) {
    contest.drop();
    const { group, first, node } = offer;
    if (state.roomFor.has(group.zone)) continue;
    emit({ kind: "RoomReserved", run: tasksOf(state, first).number, node });
  }
}

/** Groups that only too little room under their limits keeps from starting, where none is kept for a task yet. */
function* limitedGroups(state: State, now: number): Generator<Group> {
  for (const pool of state.pools.values()) {
    for (const group of pool.groups.values()) {
      if (group.limits.length === 0 || group.line.size === 0 || state.roomFor.has(group.zone)) continue;
      if (mayRun(state, group) && lacksOnlyRoom(group, now)) yield group;
    }
  }
}

function mayHaveRoomKept(state: State, group: Group): boolean {
  return (
    fitsAtAll(group) &&
    isPassedOver(state, group) &&
    hasWorker(state, group.pool) &&
    !meetsReserved(state, group)
  );
}

/** What takes long to run may wait as long: to keep room idle for it at once would cost more than it gains. */
function roomOverdueAt(state: State, { group, first }: Offer): number {
  const waitMs = Math.max(state.config.reserveAfterMs, first.estimateMs);
  return Math.max(tasksOf(state, first).sinceOf(first.node) + waitMs, state.roomAgainAt.get(group.zone) ?? 0);
}

function placeOf(state: State, key: TaskKey): string {
  return state.tasks(runOfKey(key)).groupOf(nodeOfKey(key)).pool.place;
}

/**
 * When a turn without stimuli could decide something, after one at `after`: a task falls due or its deadline passes,
 * a rate admits again, a reservation can be made, or it pays to ask for what waits at a worker.
 */
export function nextWakeAt(state: State, after: number = state.now): number | undefined {
  // A state that was only followed has not been put in order by a dispatch.
  state.arrangeRuns(after);
  let wake = Math.min(
    state.nextDueAt() ?? Number.POSITIVE_INFINITY,
    state.nextDeadline() ?? Number.POSITIVE_INFINITY,
  );
  for (const pool of state.pools.values()) {
    const mayReserve = (state.places.get(pool.place) ?? 0) > 1;
    for (const group of pool.groups.values()) {
      if (group.line.size === 0 || (!mayReserve && group.limits.length === 0)) continue;
      const admittedAt = nextAdmissionAt(group, after);
      if (admittedAt !== undefined) wake = Math.min(wake, admittedAt);
      if (!mayReserve) continue;
      const at = overdueAt(state, offerOf(state, group, after).first);
      if (at > after) wake = Math.min(wake, at);
    }
  }
  for (const group of limitedGroups(state, after)) {
    const overdue = roomOverdueAt(state, offerOf(state, group, after));
    if (overdue > after) wake = Math.min(wake, overdue);
  }
  wake = Math.min(wake, nextRecallAt(state, after));
  return wake === Number.POSITIVE_INFINITY ? undefined : wake;
}

export function isWaiting(tasks: Tasks, node: number): boolean {
  const status = tasks.statusOf(node);
  return (
    status === Status.waiting ||
    status === Status.held ||
    status === Status.ready ||
    status === Status.delayed
  );
}
