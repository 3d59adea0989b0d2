// Dispatch once more, the plain way: it looks at every ready task and every worker each time, and keeps no
// index. The scheduler must decide the same.

import type { TaskSpec } from "../src/graph/index.ts";
import {
  candidateTable,
  Demand,
  firstOpening,
  type Needs,
  nodeOfKey,
  runOfKey,
  taskKey,
} from "../src/placement/index.ts";
import { apply, type Run, type State, Status } from "../src/scheduler/index.ts";

interface Ready {
  readonly run: Run;
  readonly node: number;
  readonly task: TaskSpec;
  /** Tasks with equal needs and priority stand or fall together. */
  readonly group: string;
}

/** Changes the state as a dispatch would; returns who was given what, and who was kept free for what. */
export function dispatchPlainly(state: State, now: number): string[] {
  const decided: string[] = [];
  for (let before = -1; before !== decided.length; ) {
    before = decided.length;
    for (const key of [...state.fleet.reservations.keys()].sort((a, b) => a - b)) {
      const ready = readyTasks(state, now).find(({ run, node }) => taskKey(run.number, node) === key);
      if (ready) decided.push(...place(state, ready, now));
    }
    const passedOver = new Set<string>();
    for (let ready = first(state, now, passedOver); ready; ready = first(state, now, passedOver)) {
      const placed = place(state, ready, now);
      if (placed.length === 0) passedOver.add(ready.group);
      decided.push(...placed);
    }
  }
  return [...decided, ...reserve(state, now)];
}

function first(state: State, now: number, passedOver: ReadonlySet<string>): Ready | undefined {
  return readyTasks(state, now).find(({ group }) => !passedOver.has(group));
}

/** By priority, run, work held up and order of submission. */
function readyTasks(state: State, now: number): Ready[] {
  const tasks: Ready[] = [];
  for (const run of state.runs.values()) {
    for (const [node, status] of run.status.entries()) {
      const isDue = status === Status.delayed && (run.since[node] as number) <= now;
      if (status !== Status.ready && !isDue) continue;
      const task = run.graph.taskOf(node);
      tasks.push({ run, node, task, group: JSON.stringify([task.priority, needsOf(task, run)]) });
    }
  }
  return tasks.sort(
    (a, b) =>
      a.task.priority - b.task.priority ||
      a.run.number - b.run.number ||
      (b.run.graph.holdsUpMs[b.node] as number) - (a.run.graph.holdsUpMs[a.node] as number) ||
      a.node - b.node,
  );
}

function place(state: State, { run, node, task }: Ready, now: number): string[] {
  const subject = {
    nodeId: run.graph.idOf(node),
    type: task.type,
    zone: run.zone,
    locality: locality(state, run, node),
  };
  const rows = candidateTable(state.fleet, needsOf(task, run), taskKey(run.number, node), subject);
  const chosen = rows.find(({ rank }) => rank === 1);
  if (!chosen) return [];
  const attempt = (run.attempt[node] as number) + 1;
  const worker = state.fleet.byId(chosen.worker)?.number ?? -1;
  const reason = { type: "OnlyWorkerAvailable" } as const;
  apply(
    state,
    { kind: "TaskAssigned", run: run.number, node, attempt, worker, reason, runnerUp: -1, rejected: [] },
    now,
  );
  return [`TaskAssigned ${run.graph.idOf(node)}#${attempt} ${chosen.worker}`];
}

/** For every input that a worker still holds, something and its bytes. */
function locality(state: State, run: Run, node: number): Map<number, number> | undefined {
  const { preferLocality, strategy } = state.config;
  if (!preferLocality && strategy !== "affinity") return undefined;
  const points = new Map<number, number>();
  const { start, targets } = run.graph.dependencies;
  for (const input of targets.subarray(start[node], start[node + 1])) {
    const holder = state.fleet.workers[run.worker[input] as number];
    const isThere =
      holder && holder.status !== "Unreachable" && (run.lastSeq[input] as number) > holder.registeredSeq;
    if (!isThere) continue;
    points.set(holder.number, (points.get(holder.number) ?? 0) + 65_536 + (run.resultBytes[input] as number));
  }
  return points;
}

function reserve(state: State, now: number): string[] {
  const decided: string[] = [];
  const seen = new Set<string>();
  for (const { run, node, task, group } of readyTasks(state, now)) {
    const isHead = !seen.has(group);
    seen.add(group);
    const isOverdue = now - (run.since[node] as number) >= state.config.reserveAfterMs;
    if (!isHead || !isOverdue || isTaken(state, task.executor, run.zone)) continue;
    if (differentNeeds(state, task.executor, run.zone) < 2) continue;
    const opening = firstOpening(state.fleet, new Demand(needsOf(task, run)), now);
    if (!opening) continue;
    apply(
      state,
      {
        kind: "ReservationMade",
        run: run.number,
        node,
        worker: opening.worker.number,
        freeAt: opening.freeAt,
      },
      now,
    );
    decided.push(`ReservationMade ${run.graph.idOf(node)} ${opening.worker.id}`);
  }
  return decided;
}

function isTaken(state: State, executor: string, zone: string): boolean {
  return [...state.fleet.reservations.keys()].some((key) => {
    const run = state.run(runOfKey(key));
    return run.zone === zone && run.graph.taskOf(nodeOfKey(key)).executor === executor;
  });
}

/** How many different needs the open runs have for an executor and zone: among equals nothing is passed over. */
function differentNeeds(state: State, executor: string, zone: string): number {
  const open = [...state.runs.values()].filter((run) => run.outcome === undefined && run.zone === zone);
  const needs = open.flatMap((run) =>
    run.graph.specs
      .filter((task) => task.executor === executor)
      .map((task) => JSON.stringify(needsOf(task, run))),
  );
  return new Set(needs).size;
}

function needsOf(task: TaskSpec, run: Run): Needs {
  const { executor, capabilities, cpuMillicores, memoryBytes } = task;
  return { executor, zone: run.zone, capabilities, cpuMillicores, memoryBytes };
}
