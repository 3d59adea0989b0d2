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
import { apply, isEnded, type Run, type State, Status } from "../src/scheduler/index.ts";

interface Ready {
  readonly run: Run;
  readonly node: number;
  readonly task: TaskSpec;
  /** Tasks with equal needs stand or fall together. */
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

/** By run, and in each those that starve, the critical path, priority, risk, what hangs on it, age, order of submission. */
function readyTasks(state: State, now: number): Ready[] {
  const tasks: Ready[] = [];
  for (const run of state.runs.values()) {
    for (const [node, status] of run.status.entries()) {
      const isDue = status === Status.delayed && (run.since[node] as number) <= now;
      if (status !== Status.ready && !isDue) continue;
      const task = run.graph.taskOf(node);
      tasks.push({ run, node, task, group: JSON.stringify(needsOf(task, run)) });
    }
  }
  const marks = new Map(tasks.map((ready) => [ready, marksOf(ready, state, now)]));
  return tasks.sort((a, b) => {
    const [ofA, ofB] = [marks.get(a) ?? [], marks.get(b) ?? []];
    const at = ofA.findIndex((mark, index) => mark !== ofB[index]);
    return (ofA[at] ?? 0) - (ofB[at] ?? 0);
  });
}

function marksOf({ run, node, task }: Ready, { config }: State, now: number): number[] {
  const { graph, status, readyAt } = run;
  const waited = now - (readyAt[node] as number);
  const open = [...graph.holdsUpMs].filter((_, other) => !isEnded(status[other] as Status));
  const { starveNodeMs = 4 * 3_600_000 } = config;
  const isStarving = waited > 6 * starveNodeMs;
  const raised = waited > starveNodeMs ? Math.max(0, task.priority - 1) : task.priority;
  return [
    Math.min(...graph.specs.map(({ priority }) => priority)),
    run.number,
    isStarving ? 0 : 1,
    graph.holdsUpMs[node] === Math.max(...open) ? 0 : 1,
    isStarving ? 0 : raised,
    -["low", "medium", "high", "critical"].indexOf(task.risk),
    task.estimateMs - 2 * (graph.holdsUpMs[node] as number),
    readyAt[node] as number,
    node,
  ];
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
  const worker = state.fleet.known().find(({ id }) => id === chosen.worker)?.number ?? -1;
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
