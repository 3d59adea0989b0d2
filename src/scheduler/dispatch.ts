import { Heap } from "../core/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import {
  choose,
  firstOpening,
  nodeOfKey,
  runOfKey,
  type Subject,
  type TaskKey,
  taskKey,
} from "../placement/index.ts";
import { type Group, goesFirst, type Lane } from "./group.ts";
import { localityOf } from "./locality.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";

/** Applies an event to the state and records it. */
export type Emit = (event: LedgerEvent) => void;

/**
 * Give ready tasks to workers until none fits.
 *
 * Tasks that a worker is kept free for go first. Then the groups are tried in the order of their first
 * tasks; a group whose first finds no worker is passed over as a whole, and what stands behind it goes ahead.
 * Assigning can end a reservation, which frees a worker for a group that was passed over: hence the loop.
 */
export function dispatch(state: State, now: number, emit: Emit): void {
  state.offerDue(now);
  const { fleet } = state;
  for (let relief = -1; relief !== fleet.relief; ) {
    relief = fleet.relief;
    placeReserved(state, emit);
    placeGroups(state, emit);
  }
  makeReservations(state, now, emit);
}

function placeReserved(state: State, emit: Emit): void {
  for (const key of [...state.fleet.reservations.keys()].sort((a, b) => a - b)) {
    const run = state.run(runOfKey(key));
    tryPlace(state, run.laneOf(nodeOfKey(key)).group, run, nodeOfKey(key), emit);
  }
}

function placeGroups(state: State, emit: Emit): void {
  const worthATry: Group[] = [];
  for (const group of state.groups.values())
    if (group.ready > 0 && mayBeMet(state, group)) worthATry.push(group);
  const groups = new Heap<Group>((a, b) => goesFirst(a.head() as Lane, b.head() as Lane), worthATry);
  for (let group = groups.peek(); group; group = groups.peek()) {
    const lane = group.head() as Lane;
    if (!mayBeMet(state, group)) {
      // What was tried before it has taken the room. It will be the same for many: they go together.
      groups.keep((other) => mayBeMet(state, other));
      continue;
    }
    const placed = tryPlace(state, group, lane.run, lane.firstNode, emit);
    if (placed && group.ready > 0) groups.settleTop();
    else groups.pop();
  }
}

/** False: since no worker could take the group's first task, none has got the room for it. */
function mayBeMet({ fleet }: State, group: Group): boolean {
  if (group.blockedAt === -1 || fleet.mayBeMet(group.demand, group.blockedAt)) return true;
  group.blockedAt = fleet.relief;
  return false;
}

function tryPlace(state: State, group: Group, run: Run, node: number, emit: Emit): boolean {
  const { fleet, candidates } = state;
  candidates.find(fleet, group.demand, taskKey(run.number, node));
  // Noted for every try: finding candidates brings the demand up to date, and only what is noted tells that it was.
  group.blockedAt = candidates.count === 0 ? fleet.relief : -1;
  if (candidates.count === 0) return false;
  const rejected = candidates.rejected();
  const choice = choose(fleet, candidates, subjectOf(state, run, node));
  emit({
    kind: "TaskAssigned",
    run: run.number,
    node,
    attempt: (run.attempt[node] as number) + 1,
    worker: choice.worker.number,
    reason: choice.reason,
    runnerUp: choice.runnerUp?.number ?? -1,
    rejected,
  });
  return true;
}

export function subjectOf(state: State, run: Run, node: number): Subject {
  const task = run.graph.taskOf(node);
  return {
    nodeId: run.graph.idOf(node),
    type: task.type,
    zone: run.zone,
    cpuMillicores: task.cpuMillicores,
    locality: localityOf(state, run, node),
  };
}

/**
 * Keep a worker free for what was passed over too long: one for each executor and zone, and only for the first
 * of a group. Without this, small tasks could fill every gap that a large one waits for. Where all needs are the
 * same nothing can be passed over, and waiting long only means that there is much to do.
 */
function makeReservations(state: State, now: number, emit: Emit): void {
  const { fleet } = state;
  const open = new Set<string>();
  for (const [place, needs] of state.places) if (needs.size > 1) open.add(place);
  if (open.size === 0) return;
  for (const key of fleet.reservations.keys()) open.delete(placeOf(state, key));
  if (open.size === 0) return;
  const blocked: Lane[] = [];
  for (const group of state.groups.values()) {
    const lane = group.ready > 0 && open.has(group.place) ? group.head() : undefined;
    if (lane && isOverdue(state, lane, now)) blocked.push(lane);
  }
  for (const lane of blocked.sort((a, b) => (goesFirst(a, b) ? -1 : 1))) {
    if (!open.has(lane.group.place)) continue;
    const opening = firstOpening(fleet, lane.group.demand, now);
    if (!opening) continue;
    open.delete(lane.group.place);
    emit({
      kind: "ReservationMade",
      run: lane.run.number,
      node: lane.firstNode,
      worker: opening.worker.number,
      freeAt: opening.freeAt,
    });
  }
}

function isOverdue(state: State, lane: Lane, now: number): boolean {
  return now - (lane.run.since[lane.firstNode] as number) >= state.config.reserveAfterMs;
}

function placeOf(state: State, key: TaskKey): string {
  return state.run(runOfKey(key)).laneOf(nodeOfKey(key)).group.place;
}

/** When a turn without stimuli could decide something, after one at `after`: a retry or a reservation falls due. */
export function nextWakeAt(state: State, after: number = state.now): number | undefined {
  let wake = state.nextDueAt() ?? Number.POSITIVE_INFINITY;
  for (const group of state.groups.values()) {
    const lane = group.ready > 0 ? group.head() : undefined;
    if (!lane || (state.places.get(group.place)?.size ?? 0) < 2) continue;
    const overdueAt = (lane.run.since[lane.firstNode] as number) + state.config.reserveAfterMs;
    if (overdueAt > after) wake = Math.min(wake, overdueAt);
  }
  return wake === Number.POSITIVE_INFINITY ? undefined : wake;
}

export function isWaiting(run: Run, node: number): boolean {
  const status = run.statusOf(node);
  return (
    status === Status.waiting ||
    status === Status.held ||
    status === Status.ready ||
    status === Status.delayed
  );
}
