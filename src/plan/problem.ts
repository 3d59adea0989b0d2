import { findCycles } from "../graph/index.ts";
import type { Skip } from "./plan.ts";
import type { Activity, Project } from "./project.ts";

/**
 * A project as the algorithms see it: what remains to be done, as numbers. Activities are in a topological order,
 * those that run already first. Done ones are left out, and so is what cannot be planned.
 */
export interface Problem {
  readonly size: number;
  /** So many of the first run already: they start at 0, whatever else does. */
  readonly running: number;
  /** For each the index of its activity in the project, which is the order of submission. */
  readonly activity: Uint32Array;
  readonly durations: Float64Array;
  /** Names of the resources that are limited and of which, unless all are kept, not all could be had at once. */
  readonly resources: readonly string[];
  readonly capacities: Float64Array;
  /** How much of each resource: `demands[n * resources.length + r]`. */
  readonly demands: Float64Array;
  readonly needs: Neighbours;
  readonly neededBy: Neighbours;
}

/** The neighbours of n are `targets[start[n]]` to `targets[start[n + 1] - 1]`. */
export interface Neighbours {
  readonly start: Uint32Array;
  readonly targets: Uint32Array;
}

export interface Compiled {
  readonly problem: Problem;
  /** What was left out and why. Done activities are not in it. */
  readonly skipped: ReadonlyMap<string, Skip>;
  /** Each node needs the next, and the last the first. One of every knot of cycles. */
  readonly cycles: readonly (readonly string[])[];
  /** Needs that name nothing. They do not block. */
  readonly dangling: readonly { readonly id: string; readonly needs: string }[];
}

/**
 * Resources that have no capacity are not limited. Where more may be taken than the activities say, those that suffice
 * for them must be kept too.
 */
export function compile(
  project: Project,
  capacities: Readonly<Record<string, number>>,
  keep: "scarce" | "used" = "scarce",
): Compiled {
  const { activities } = project;
  const { lists, dangling } = openNeeds(activities);
  const needs = flattened(lists);
  const neededBy = reversed(needs);
  const cycles = cyclesOf(lists, needs, neededBy);
  const idOf = (index: number) => (activities[index] as Activity).id;
  const named = cycles.map((cycle) => cycle.map(idOf));
  const skips = skipsByThemselves(activities, capacities);
  for (const [at, cycle] of cycles.entries()) {
    for (const index of cycle) skips.set(index, { code: "Cycle", cycle: named[at] as string[] });
  }
  const order = plannableOrder(activities, needs, neededBy, skips);
  const placeOf = new Int32Array(activities.length).fill(-1);
  for (const [at, index] of order.entries()) placeOf[index] = at;
  const skipped = new Map<string, Skip>();
  for (const [index, { id, state }] of activities.entries()) {
    if (state.is === "done" || placeOf[index] !== -1) continue;
    const waitsFor = () =>
      (lists[index] as readonly number[]).filter((need) => placeOf[need] === -1).map(idOf);
    skipped.set(id, skips.get(index) ?? { code: "Dependencies", waitsFor: waitsFor() });
  }
  const problem = problemOf(activities, order, moved(needs, order, placeOf), capacities, keep);
  return { problem, skipped, cycles: named, dangling };
}

const NONE: readonly number[] = [];

/** For each activity the indexes of those that it still waits for, each once. */
function openNeeds(
  activities: readonly Activity[],
): Pick<Compiled, "dangling"> & { lists: readonly (readonly number[])[] } {
  const indexOf = new Map<string, number>();
  for (const [index, { id }] of activities.entries()) indexOf.set(id, index);
  const dangling: { id: string; needs: string }[] = [];
  const lists = activities.map(({ id, needs, state }) => {
    if (needs.length === 0) return NONE;
    const found: number[] = [];
    for (const need of needs) {
      const index = indexOf.get(need);
      if (index === undefined) dangling.push({ id, needs: need });
      else if (activities[index]?.state.is !== "done") found.push(index);
    }
    // What runs or is done waits for nothing any more.
    if (state.is === "running" || state.is === "done") return NONE;
    return found.length > 1 ? [...new Set(found)] : found;
  });
  return { lists, dangling };
}

/** By the first of each, which most projects have none of. */
function cyclesOf(
  lists: readonly (readonly number[])[],
  needs: Neighbours,
  neededBy: Neighbours,
): number[][] {
  if (topological(needs, neededBy, () => true).length === lists.length) return [];
  const cycles = findCycles(lists);
  for (const [index, list] of lists.entries()) if (list.includes(index)) cycles.push([index]);
  return cycles.sort((a, b) => (a[0] as number) - (b[0] as number));
}

function skipsByThemselves(
  activities: readonly Activity[],
  capacities: Readonly<Record<string, number>>,
): Map<number, Skip> {
  const limited = Object.entries(capacities);
  const skips = new Map<number, Skip>();
  for (const [index, { state, uses }] of activities.entries()) {
    if (state.is === "held") {
      skips.set(index, { code: "Held", because: state.code, detail: state.detail });
    } else if (state.is === "open") {
      for (const [resource, capacity] of limited) {
        const needed = uses[resource] ?? 0;
        if (needed > capacity) skips.set(index, { code: "Unsatisfiable", resource, needed, capacity });
      }
    }
  }
  return skips;
}

/** Running ones first; then every activity that can be planned, after all that it needs. */
function plannableOrder(
  activities: readonly Activity[],
  needs: Neighbours,
  neededBy: Neighbours,
  skips: ReadonlyMap<number, Skip>,
): readonly number[] {
  const is = (index: number) => (activities[index] as Activity).state.is;
  const order = topological(needs, neededBy, (index) => is(index) !== "done" && !skips.has(index));
  const running = order.filter((index) => is(index) === "running");
  return running.length === 0 ? order : [...running, ...order.filter((index) => is(index) === "open")];
}

/** Of those that may go, every one after all that it needs; none behind one that may not go or that is in a cycle. */
function topological(needs: Neighbours, neededBy: Neighbours, mayGo: (index: number) => boolean): number[] {
  const size = needs.start.length - 1;
  const pending = new Uint32Array(size);
  const order: number[] = [];
  for (let index = 0; index < size; index++) {
    pending[index] = (needs.start[index + 1] as number) - (needs.start[index] as number);
    if (pending[index] === 0 && mayGo(index)) order.push(index);
  }
  for (let at = 0; at < order.length; at++) {
    const index = order[at] as number;
    for (let edge = neededBy.start[index] as number; edge < (neededBy.start[index + 1] as number); edge++) {
      const dependent = neededBy.targets[edge] as number;
      if (--(pending[dependent] as number) === 0 && mayGo(dependent)) order.push(dependent);
    }
  }
  return order;
}

function problemOf(
  activities: readonly Activity[],
  order: readonly number[],
  needs: Neighbours,
  limits: Readonly<Record<string, number>>,
  keep: "scarce" | "used",
): Problem {
  const planned = order.map((index) => activities[index] as Activity);
  const resources = resourcesOf(planned, limits, keep);
  const demands = new Float64Array(order.length * resources.length);
  let filled = 0;
  for (const { uses } of planned) for (const name of resources) demands[filled++] = uses[name] ?? 0;
  return {
    size: order.length,
    running: planned.filter(({ state }) => state.is === "running").length,
    activity: Uint32Array.from(order),
    durations: Float64Array.from(planned.map(({ duration }) => duration)),
    resources,
    capacities: Float64Array.from(resources, (name) => limits[name] as number),
    demands,
    needs,
    neededBy: reversed(needs),
  };
}

/** A resource that suffices for everything at once cannot decide anything. */
function resourcesOf(
  planned: readonly Activity[],
  limits: Readonly<Record<string, number>>,
  keep: "scarce" | "used",
): readonly string[] {
  return Object.entries(limits).flatMap(([name, limit]) => {
    const wanted = planned.reduce((sum, { uses }) => sum + (uses[name] ?? 0), 0);
    return wanted > (keep === "used" ? 0 : limit) ? [name] : [];
  });
}

function flattened(lists: readonly (readonly number[])[]): Neighbours {
  const start = new Uint32Array(lists.length + 1);
  for (const [at, list] of lists.entries()) start[at + 1] = (start[at] as number) + list.length;
  const targets = new Uint32Array(start[lists.length] as number);
  let filled = 0;
  // Most lists are short: to copy them as arrays would take longer.
  for (const list of lists) for (const target of list) targets[filled++] = target;
  return { start, targets };
}

/** The same for those of an order only, by their places in it. All that they need is in it too. */
function moved({ start, targets }: Neighbours, order: readonly number[], placeOf: Int32Array): Neighbours {
  const movedStart = new Uint32Array(order.length + 1);
  for (const [at, index] of order.entries()) {
    const count = (start[index + 1] as number) - (start[index] as number);
    movedStart[at + 1] = (movedStart[at] as number) + count;
  }
  const movedTargets = new Uint32Array(movedStart[order.length] as number);
  let filled = 0;
  for (const index of order) {
    for (let edge = start[index] as number; edge < (start[index + 1] as number); edge++) {
      movedTargets[filled++] = placeOf[targets[edge] as number] as number;
    }
  }
  return { start: movedStart, targets: movedTargets };
}

function reversed({ start, targets }: Neighbours): Neighbours {
  const size = start.length - 1;
  const back = new Uint32Array(size + 1);
  for (const target of targets) (back[target + 1] as number)++;
  for (let at = 0; at < size; at++) (back[at + 1] as number) += back[at] as number;
  const next = back.slice(0, size);
  const sources = new Uint32Array(targets.length);
  for (let at = 0; at < size; at++) {
    for (let edge = start[at] as number; edge < (start[at + 1] as number); edge++) {
      const target = targets[edge] as number;
      sources[next[target] as number] = at;
      (next[target] as number)++;
    }
  }
  return { start: back, targets: sources };
}
