import { compareText } from "../core/index.ts";
import {
  type Priority,
  type TaskSpec,
  taskSpecOf,
  type WireGraph,
  type WireSpec,
  wireSpec,
} from "../graph/index.ts";
import type { LedgerEvent, SchedulerConfig, TaskSubmitted } from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";
import { classify, startTier } from "../queue/index.ts";
import type { Happening } from "./fork.ts";
import { isRemembered, type SingleSnapshot, type Snapshot } from "./snapshot.ts";
import { Status } from "./status.ts";
import type { Stimulus } from "./step.ts";

/** What is otherwise from the moment of a fork on. */
export type Alteration =
  | { readonly kind: "more-workers"; readonly like: string; readonly count: number }
  | { readonly kind: "without-worker"; readonly worker: string }
  | { readonly kind: "slots"; readonly worker: string; readonly slots: number }
  | { readonly kind: "settings"; readonly settings: Partial<SchedulerConfig> }
  | { readonly kind: "priority"; readonly of: Chosen; readonly priority: Priority }
  /** Null: no limit. */
  | {
      readonly kind: "agent-limit";
      readonly zone: string;
      readonly agent: string;
      readonly max: number | null;
    }
  | { readonly kind: "limit"; readonly zone: string; readonly name: string; readonly max: number | null };

/** Tasks of a zone, those to which all of it applies. */
export interface Chosen {
  readonly zone: string;
  readonly agent?: string | undefined;
  readonly type?: string | undefined;
}

/** Where a play begins, and what happens from outside after that. */
export interface Course {
  readonly snapshot: Snapshot;
  readonly happenings: readonly Happening[];
}

/** Workers that an alteration names and that are not there. */
export function unknownWorkers({ workers }: Snapshot, alterations: readonly Alteration[]): string[] {
  const known = new Set(
    workers
      .filter(isRemembered)
      .filter(({ hasLeft }) => !hasLeft)
      .map(({ spec }) => spec.id),
  );
  const named = alterations.flatMap((one) => ("worker" in one ? one.worker : "like" in one ? one.like : []));
  return [...new Set(named)].filter((id) => !known.has(id)).sort(compareText);
}

/** The course of things with these alterations, one after the other. */
export function alteredCourse(course: Course, alterations: readonly Alteration[]): Course {
  return alterations.reduce(alter, course);
}

function alter(course: Course, alteration: Alteration): Course {
  const { snapshot, happenings } = course;
  switch (alteration.kind) {
    case "more-workers":
      return withMore(course, alteration.like, alteration.count);
    case "without-worker":
      return without(course, alteration.worker);
    case "slots": {
      const resized = (spec: WorkerSpec) =>
        spec.id === alteration.worker ? { ...spec, slots: alteration.slots } : spec;
      const workers = snapshot.workers.map((worker) =>
        isRemembered(worker) ? { ...worker, spec: resized(worker.spec) } : worker,
      );
      const isOther = (one: Stimulus) =>
        one.kind === "WorkerRegistered" ? { ...one, worker: resized(one.worker) } : one;
      return { snapshot: { ...snapshot, workers }, happenings: mapped(happenings, isOther) };
    }
    case "settings": {
      const { settings } = alteration;
      const set = (config: SchedulerConfig) =>
        ({ kind: "SchedulerConfigured", config: { ...config, ...settings } }) as const;
      const later = mapped(happenings, (one) => (one.kind === "SchedulerConfigured" ? set(one.config) : one));
      return { snapshot, happenings: first(snapshot, later, set(snapshot.config)) };
    }
    case "priority":
      return withPriority(course, alteration.of, alteration.priority);
    case "agent-limit": {
      const { zone, agent, max } = alteration;
      return {
        snapshot,
        happenings: first(snapshot, happenings, { kind: "AgentConfigured", zone, agent, max }),
      };
    }
    case "limit":
      return withLimit(course, alteration);
  }
}

/** Alterations go before whatever happens at the same time. */
function first(
  { now }: Snapshot,
  happenings: readonly Happening[],
  ...stimuli: readonly Stimulus[]
): Happening[] {
  return [{ at: now, stimuli }, ...happenings];
}

function mapped(happenings: readonly Happening[], map: (one: Stimulus) => Stimulus | undefined): Happening[] {
  return happenings.map(({ at, stimuli }) => ({ at, stimuli: stimuli.flatMap((one) => map(one) ?? []) }));
}

/** Names that no worker has. */
function withMore({ snapshot, happenings }: Course, like: string, count: number): Course {
  const found = snapshot.workers.filter(isRemembered).findLast(({ spec }) => spec.id === like);
  if (!found) return { snapshot, happenings };
  const known = new Set(namesIn(snapshot, happenings));
  const added: Stimulus[] = [];
  for (let number = 2; added.length < count; number++) {
    const id = `${like} (${number})`;
    if (!known.has(id)) added.push({ kind: "WorkerRegistered", worker: { ...found.spec, id } });
  }
  // Who comes later has a higher number than in truth.
  const isLater = (worker: number) => worker >= snapshot.workers.length;
  const renumbered = mapped(happenings, (one) =>
    "worker" in one && typeof one.worker === "number" && isLater(one.worker)
      ? ({ ...one, worker: one.worker + count } as Stimulus)
      : one,
  );
  return { snapshot, happenings: first(snapshot, renumbered, ...added) };
}

function namesIn({ workers }: Snapshot, happenings: readonly Happening[]): string[] {
  const later = happenings.flatMap(({ stimuli }) =>
    stimuli.flatMap((one) => (one.kind === "WorkerRegistered" ? one.worker.id : [])),
  );
  return [...workers.map((worker) => (isRemembered(worker) ? worker.spec.id : worker)), ...later];
}

function without({ snapshot, happenings }: Course, id: string): Course {
  const worker = snapshot.workers.findLastIndex(
    (one) => isRemembered(one) && one.spec.id === id && !one.hasLeft,
  );
  if (worker === -1) return { snapshot, happenings };
  const others = mapped(happenings, (one) => {
    if (one.kind === "WorkerRegistered" && one.worker.id === id) return undefined;
    return "worker" in one && one.worker === worker ? undefined : one;
  });
  return { snapshot, happenings: first(snapshot, others, { kind: "WorkerLost", worker, code: "left" }) };
}

function withLimit(
  { snapshot, happenings }: Course,
  { zone, name, max }: Extract<Alteration, { kind: "limit" }>,
): Course {
  const [, known] = snapshot.limits.find(([key]) => key === JSON.stringify([zone, name])) ?? [];
  const { rateCount = null, ratePeriodMs = 1 } = known ?? {};
  const set: Stimulus = { kind: "LimitConfigured", zone, name, concurrency: max, rateCount, ratePeriodMs };
  return { snapshot, happenings: first(snapshot, happenings, set) };
}

/** Of what waits at the fork and of what comes later: what is on a worker stays as it is. */
function withPriority({ snapshot, happenings }: Course, of: Chosen, priority: Priority): Course {
  const applies = ({ zone, agent }: { zone: string; agent: string }, { type }: TaskSpec) =>
    zone === of.zone && (of.agent ?? agent) === agent && (of.type ?? type) === type;
  const { config, specs = [] } = snapshot;
  const [singles, all] = raisedSingles(snapshot.singles, specs, priority, config, applies);
  const runs = snapshot.runs.map((run) => ({
    ...run,
    graph: raisedGraph(run.graph, priority, (spec) => applies(run, spec)),
  }));
  const later = mapped(happenings, (one) => {
    if (one.kind === "RunSubmitted")
      return { ...one, graph: raisedGraph(one.graph, priority, (spec) => applies(one, spec)) };
    if (one.kind === "TaskSubmitted") return raisedTask(one, priority, applies);
    return one;
  });
  return { snapshot: { ...snapshot, singles, specs: all, runs }, happenings: later };
}

type Applies = (whose: { zone: string; agent: string }, spec: TaskSpec) => boolean;

function raisedTask(task: TaskSubmitted, priority: Priority, applies: Applies): TaskSubmitted {
  const spec = taskSpecOf(task.spec);
  return applies(task, spec) ? { ...task, spec: wireSpec({ ...spec, priority }) } : task;
}

function raisedGraph(graph: WireGraph, priority: Priority, applies: (spec: TaskSpec) => boolean): WireGraph {
  const specs = graph.specs.map((wire) => {
    const spec = taskSpecOf(wire);
    return applies(spec) ? wireSpec({ ...spec, priority }) : wire;
  });
  return { ...graph, specs };
}

const WAITING: readonly Status[] = [Status.waiting, Status.held, Status.ready, Status.delayed];

function raisedSingles(
  singles: readonly SingleSnapshot[],
  specs: readonly WireSpec[],
  priority: Priority,
  config: SchedulerConfig,
  applies: Applies,
): [SingleSnapshot[], WireSpec[]] {
  const all = [...specs];
  const places = new Map<number, number>();
  const raised = singles.map((single): SingleSnapshot => {
    const [number, id, agent, zone, at, requestState, boostMicros, ...rest] = single;
    const [reservedMicros, deadline, requestHash, submittedAt, seq, readyAt, , , before, status, ...others] =
      rest;
    const spec = taskSpecOf(specs[at] as WireSpec);
    if (!WAITING.includes(status) || !applies({ zone, agent }, spec)) return single;
    const place = places.get(at) ?? all.push(wireSpec({ ...spec, priority })) - 1;
    places.set(at, place);
    const tier = startTier(priority, boostMicros, config);
    const known = [
      number,
      id,
      agent,
      zone,
      place,
      requestState,
      boostMicros,
      reservedMicros,
      deadline,
    ] as const;
    const when = [requestHash, submittedAt, seq, readyAt, tier, classify(tier, requestState)] as const;
    return [...known, ...when, before, status, ...others];
  });
  return [raised, all];
}

/** Of what happened after the fork, what happens in a play as well: what workers did there is what is played. */
export function comesFromOutside(event: LedgerEvent): boolean {
  switch (event.kind) {
    case "RunSubmitted":
      return event.parent === undefined;
    case "TaskSubmitted":
    case "WorkerRegistered":
    case "WorkerLost":
    case "DrainRequested":
    case "SchedulerConfigured":
    case "ClockCorrected":
    case "AgentConfigured":
    case "ZoneConfigured":
    case "LimitConfigured":
    case "CreditsGranted":
    case "QueuePaused":
    case "QueueResumed":
      return true;
    default:
      return false;
  }
}
