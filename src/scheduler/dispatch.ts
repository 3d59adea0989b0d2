import { Heap } from "../core/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import {
  Candidates,
  choose,
  firstOpening,
  nodeOfKey,
  runOfKey,
  type Subject,
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
  const candidates = new Candidates();
  for (let relief = -1; relief !== fleet.relief; ) {
    relief = fleet.relief;
    placeReserved(state, candidates, emit);
    placeGroups(state, candidates, emit);
  }
  makeReservations(state, now, emit);
}

function placeReserved(state: State, candidates: Candidates, emit: Emit): void {
  for (const key of [...state.fleet.reservations.keys()].sort((a, b) => a - b)) {
    const run = state.run(runOfKey(key));
    tryPlace(state, run.laneOf(nodeOfKey(key)).group, run, nodeOfKey(key), candidates, emit);
  }
}

function placeGroups(state: State, candidates: Candidates, emit: Emit): void {
  const { fleet } = state;
  const heads = new Heap<Lane>(goesFirst);
  for (const group of state.groups.values()) {
    if (group.ready === 0 || group.blockedAt === fleet.relief) continue;
    const lane = group.head();
    if (lane) heads.push(lane);
  }
  for (let lane = heads.pop(); lane; lane = heads.pop()) {
    const { group } = lane;
    if (!tryPlace(state, group, lane.run, lane.first(), candidates, emit)) {
      group.blockedAt = fleet.relief;
      continue;
    }
    const next = group.head();
    if (next) heads.push(next);
  }
}

function tryPlace(
  state: State,
  group: Group,
  run: Run,
  node: number,
  candidates: Candidates,
  emit: Emit,
): boolean {
  const { fleet } = state;
  candidates.find(fleet, group.demand, taskKey(run.number, node));
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
 * of a group. Without this, small tasks could fill every gap that a large one waits for.
 */
function makeReservations(state: State, now: number, emit: Emit): void {
  const { fleet } = state;
  const taken = new Set<string>();
  for (const key of fleet.reservations.keys()) taken.add(placeOf(state.run(runOfKey(key)), nodeOfKey(key)));
  const blocked: Lane[] = [];
  for (const group of state.groups.values()) {
    const lane = group.ready > 0 ? group.head() : undefined;
    if (lane && isOverdue(state, lane, now)) blocked.push(lane);
  }
  for (const lane of blocked.sort((a, b) => (goesFirst(a, b) ? -1 : 1))) {
    const node = lane.first();
    const place = placeOf(lane.run, node);
    if (taken.has(place)) continue;
    const opening = firstOpening(fleet, lane.group.demand.needs, now);
    if (!opening) continue;
    taken.add(place);
    emit({
      kind: "ReservationMade",
      run: lane.run.number,
      node,
      worker: opening.worker.number,
      freeAt: opening.freeAt,
    });
  }
}

function isOverdue(state: State, lane: Lane, now: number): boolean {
  return now - (lane.run.since[lane.first()] as number) >= state.config.reserveAfterMs;
}

function placeOf(run: Run, node: number): string {
  return JSON.stringify([run.graph.taskOf(node).executor, run.zone]);
}

/** When a turn without stimuli could decide something: a retry falls due, or a reservation does. */
export function nextWakeAt(state: State): number | undefined {
  let wake = state.nextDueAt() ?? Number.POSITIVE_INFINITY;
  for (const group of state.groups.values()) {
    const lane = group.ready > 0 ? group.head() : undefined;
    if (!lane || state.fleet.reservations.has(taskKey(lane.run.number, lane.first()))) continue;
    const overdueAt = (lane.run.since[lane.first()] as number) + state.config.reserveAfterMs;
    if (overdueAt > state.now) wake = Math.min(wake, overdueAt);
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
