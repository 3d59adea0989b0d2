import { setImmediate as nextTurn } from "node:timers/promises";
import { speculationTag } from "../graph/index.ts";
import { nodeOfKey, runOfKey, type Worker } from "../placement/index.ts";
import {
  type Activity,
  compile,
  type Levels,
  levelsOf,
  Online,
  ParallelScheduler,
  type Problem,
  type Project,
  wholeOrder,
} from "../plan/index.ts";
import {
  DEFAULT_STARVE_NODE_MS,
  isEnded,
  isPlaced,
  type Run,
  type State,
  Status,
} from "../scheduler/index.ts";

/** What remains of a run, and how much of what it needs there is for it. */
export interface Remaining {
  /** Times are times of day. */
  readonly now: number;
  /** Since when what runs does: rows say so only a while later. */
  readonly startedAt: ReadonlyMap<string, number>;
  /** The tags of what is tried in several ways now and has not ended, by node. */
  readonly alternatives: ReadonlyMap<string, readonly string[]>;
  readonly project: Project;
  readonly capacities: Readonly<Record<string, number>>;
  /** How long a node is ready before it is raised. */
  readonly starveNodeMs: number;
}

export interface Forecast extends Pick<Remaining, "startedAt" | "alternatives"> {
  /** Milliseconds since 1970, by node. What could not be planned is not in it. */
  readonly nodes: ReadonlyMap<
    string,
    { readonly start: number; readonly end: number; readonly isCritical: boolean }
  >;
  /** Undefined where something cannot be planned. */
  readonly end: number | undefined;
  /** No order of what remains ends before this. */
  readonly earliestEnd: number;
  /** Why a node is in no plan. */
  readonly skipped: ReadonlyMap<string, string>;
}

const SHARE = "share";
const SLOTS = "slots";

/** What other tasks have on workers is there as well, until it should end. */
export function remainingOf(state: State, run: Run, now: number): Remaining {
  const capacities: Record<string, number> = {};
  const workers = workersFor(state, run);
  const executors = new Set(run.graph.specs.map((spec) => spec.executor));
  for (const executor of executors) capacities[slotsOf(executor)] = slotsFor(workers, [executor]);
  // A worker may serve several of them, with the same slots.
  if (executors.size > 1) capacities[SLOTS] = slotsFor(workers, [...executors]);
  const [anyLane] = run.lanes();
  const share = anyLane ? state.shares.maxOf(run.zone, anyLane.group.shareKey) : null;
  if (share !== null) capacities[SHARE] = share;
  for (const { group } of run.lanes()) {
    for (const [at, limit] of group.limits.entries()) {
      if (Number.isFinite(limit.max)) capacities[limitOf(group.limitNames[at] as string)] = limit.max;
    }
  }
  const ids = Array.from({ length: run.graph.size }, (_, node) => run.graph.idOf(node));
  const activities = ids.map((id, node) => activityOf(run, id, node, ids, now));
  for (const worker of workers) activities.push(...othersOn(state, worker, run, now));
  const unit = { name: "seconds", ticks: 1000 } as const;
  const running = ids.flatMap((id, node) =>
    isUnderWay(run.statusOf(node)) ? [[id, state.timeOfDay(run.sinceOf(node))] as const] : [],
  );
  const startedAt = new Map(running);
  return {
    now: state.timeOfDay(now),
    startedAt,
    alternatives: openAlternatives(run),
    project: { name: run.name, unit, activities, capacities: {}, findings: [] },
    capacities,
    starveNodeMs: state.config.starveNodeMs ?? DEFAULT_STARVE_NODE_MS,
  };
}

function openAlternatives(run: Run): Map<string, string[]> {
  const open = [...run.speculations].filter(([node]) => run.statusOf(node) === Status.speculating);
  return new Map(
    open.map(([node, { ends }]) => [
      run.graph.idOf(node),
      ends.flatMap((end, at) => (end ? [] : [speculationTag(at)])),
    ]),
  );
}

/** When each node should start and end if it takes as long as it was estimated and nobody else comes. */
export async function forecast(remaining: Remaining): Promise<Forecast> {
  const { now, startedAt, alternatives, project, capacities, starveNodeMs } = remaining;
  const { problem, skipped } = compile(project, capacities);
  await nextTurn();
  const levels = levelsOf(problem);
  const starts = await startsOf(project, problem, levels, starveNodeMs);
  const own: Planned[] = [];
  for (let n = 0; n < problem.size; n++) {
    const { id } = project.activities[problem.activity[n] as number] as Activity;
    const durationMs = problem.durations[n] as number;
    const start = now + (starts[n] as number);
    const chainMs = (levels.heads[n] as number) + durationMs + (levels.tails[n] as number);
    if (!id.startsWith(OTHER)) own.push({ id, start, end: start + durationMs, chainMs });
  }
  const longestMs = own.reduce((longest, { chainMs }) => Math.max(longest, chainMs), 0);
  return {
    startedAt,
    alternatives,
    nodes: new Map(
      own.map(({ id, start, end, chainMs }) => [id, { start, end, isCritical: chainMs === longestMs }]),
    ),
    end: skipped.size > 0 ? undefined : own.reduce((latest, { end }) => Math.max(latest, end), now),
    earliestEnd: now + longestMs,
    skipped: new Map([...skipped].map(([id, { code }]) => [id, code])),
  };
}

/** Up to so many the scheduler itself decides, which takes some hundred microseconds for each. */
const FEW = 1_000;

/** Beyond that what is on the critical path now is taken to be on it until the end: close, and fifty times as fast. */
async function startsOf(
  project: Project,
  problem: Problem,
  levels: Levels,
  starveNodeMs: number,
): Promise<Float64Array> {
  if (problem.size > FEW) {
    const quick = new ParallelScheduler(problem);
    for (const _ of quick.steps(wholeOrder(project, problem, levels))) await nextTurn();
    return quick.starts;
  }
  const online = new Online(project, problem);
  for (const _ of online.steps(starveNodeMs)) await nextTurn();
  return online.starts;
}

interface Planned {
  readonly id: string;
  readonly start: number;
  readonly end: number;
  /** The longest chain that it is part of. */
  readonly chainMs: number;
}

function activityOf(run: Run, id: string, node: number, ids: readonly string[], now: number): Activity {
  const task = run.taskOf(node);
  const status = run.statusOf(node);
  const { start, targets } = run.graph.dependencies;
  const uses: Record<string, number> = {};
  // Its alternatives are tasks of no run, and count by themselves.
  if (status !== Status.speculating) {
    uses[slotsOf(task.executor)] = 1;
    uses[SLOTS] = 1;
    uses[SHARE] = 1;
    for (const name of task.limits) uses[limitOf(name)] = amountOf(run, node, name);
  }
  const ranMs = isUnderWay(status) ? now - run.sinceOf(node) : 0;
  return {
    id,
    needs: Array.from(targets.subarray(start[node], start[node + 1]), (need) => ids[need] as string),
    duration: Math.max(0, task.estimateMs - ranMs),
    uses,
    priority: task.priority,
    risk: task.risk,
    speculate: task.speculate,
    state: stateOf(status),
  };
}

function isUnderWay(status: Status): boolean {
  return isPlaced(status) || status === Status.speculating || status === Status.expanded;
}

function stateOf(status: Status): Activity["state"] {
  if (isEnded(status)) return { is: "done" };
  if (isUnderWay(status)) return { is: "running" };
  return status === Status.held ? { is: "held", code: "held", detail: "held by a person" } : { is: "open" };
}

/** Those that take work of its zone. */
function workersFor({ fleet }: State, { zone }: Run): Worker[] {
  return fleet
    .present()
    .filter(({ status }) => status === "Idle" || status === "Busy")
    .filter(({ spec }) => spec.zone === zone || spec.zones.includes(zone));
}

function slotsFor(workers: readonly Worker[], executors: readonly string[]): number {
  const serving = workers.filter(({ spec }) =>
    executors.some((executor) => spec.executors.includes(executor)),
  );
  return serving.reduce((sum, { spec }) => sum + spec.slots, 0);
}

/** A name that no node can have: what it runs is nobody's business here. */
const OTHER = "\u0000";

function* othersOn(state: State, { number, spec, held }: Worker, run: Run, now: number): Generator<Activity> {
  const slots = Object.fromEntries(spec.executors.map((executor) => [slotsOf(executor), 1]));
  if (run.graph.specs.some(({ executor }) => spec.executors.includes(executor))) slots[SLOTS] = 1;
  for (const [key, { expectedEndMs }] of held) {
    if (runOfKey(key) === run.number) continue;
    const { zone, agent, limitNames, amounts } = state.tasks(runOfKey(key)).groupOf(nodeOfKey(key));
    const isHere = zone === run.zone;
    const limits: Record<string, number> = {};
    if (isHere) for (const [at, name] of limitNames.entries()) limits[limitOf(name)] = amounts[at] as number;
    const share = isHere && agent === run.agent ? { [SHARE]: 1 } : {};
    yield {
      id: `${OTHER}${number} ${key}`,
      needs: [],
      duration: Math.max(0, expectedEndMs - now),
      uses: { ...slots, ...share, ...limits },
      priority: 2,
      risk: "medium",
      speculate: false,
      state: { is: "running" },
    };
  }
}

function amountOf(run: Run, node: number, name: string): number {
  const { limits, amounts } = run.taskOf(node);
  const at = limits.indexOf(name);
  return at === -1 ? 0 : (amounts[at] ?? 1);
}

function slotsOf(executor: string): string {
  return `slots of ${executor}`;
}

function limitOf(name: string): string {
  return `limit ${name}`;
}
