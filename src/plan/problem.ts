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
  /** Names of the resources that are limited and of which not all could be had at once. */
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

/** Resources that have no capacity are not limited. */
export function compile(project: Project, capacities: Readonly<Record<string, number>>): Compiled {
  const { activities } = project;
  const { needs, dangling } = openNeeds(activities);
  const cycles = findCycles(needs);
  const skips = skipsByThemselves(activities, capacities);
  for (const [index, list] of needs.entries()) if (list.includes(index)) cycles.push([index]);
  const idOf = (index: number) => (activities[index] as Activity).id;
  const named = cycles.sort((a, b) => (a[0] as number) - (b[0] as number)).map((cycle) => cycle.map(idOf));
  for (const [at, cycle] of cycles.entries()) {
    for (const index of cycle) skips.set(index, { code: "Cycle", cycle: named[at] as string[] });
  }
  const order = plannableOrder(activities, needs, skips);
  const inOrder = new Uint8Array(activities.length);
  for (const index of order) inOrder[index] = 1;
  const skipped = new Map<string, Skip>();
  for (const [index, { id, state }] of activities.entries()) {
    if (state.is === "done" || inOrder[index] === 1) continue;
    const waitsFor = () => (needs[index] as number[]).filter((need) => inOrder[need] === 0).map(idOf);
    skipped.set(id, skips.get(index) ?? { code: "Dependencies", waitsFor: waitsFor() });
  }
  return { problem: problemOf(activities, order, needs, capacities), skipped, cycles: named, dangling };
}

/** For each activity the indexes of those that it still waits for, each once. */
function openNeeds(activities: readonly Activity[]): Pick<Compiled, "dangling"> & { needs: number[][] } {
  const indexOf = new Map<string, number>();
  for (const [index, { id }] of activities.entries()) indexOf.set(id, index);
  const dangling: { id: string; needs: string }[] = [];
  const needs = activities.map(({ id, needs: ids, state }) => {
    const found = new Set<number>();
    for (const need of ids) {
      const index = indexOf.get(need);
      if (index === undefined) dangling.push({ id, needs: need });
      else if (activities[index]?.state.is !== "done") found.add(index);
    }
    // What runs or is done waits for nothing any more.
    return state.is === "running" || state.is === "done" ? [] : [...found];
  });
  return { needs, dangling };
}

function skipsByThemselves(
  activities: readonly Activity[],
  capacities: Readonly<Record<string, number>>,
): Map<number, Skip> {
  const skips = new Map<number, Skip>();
  for (const [index, { state, uses }] of activities.entries()) {
    if (state.is === "held") {
      skips.set(index, { code: "Held", because: state.code, detail: state.detail });
    } else if (state.is === "open") {
      for (const [resource, needed] of Object.entries(uses)) {
        const capacity = capacities[resource] ?? Number.POSITIVE_INFINITY;
        if (needed > capacity) skips.set(index, { code: "Unsatisfiable", resource, needed, capacity });
      }
    }
  }
  return skips;
}

/** Running ones first; then every activity that can be planned, after all that it needs. */
function plannableOrder(
  activities: readonly Activity[],
  needs: readonly (readonly number[])[],
  skips: ReadonlyMap<number, Skip>,
): number[] {
  const dependents: number[][] = activities.map(() => []);
  const pending = new Uint32Array(activities.length);
  for (const [index, list] of needs.entries()) {
    pending[index] = list.length;
    for (const need of list) dependents[need]?.push(index);
  }
  const order: number[] = [];
  const running = activities.flatMap(({ state }, index) => (state.is === "running" ? [index] : []));
  const open = activities.flatMap(({ state }, index) => (state.is === "open" ? [index] : []));
  for (const index of running) order.push(index);
  for (const index of open) if (pending[index] === 0 && !skips.has(index)) order.push(index);
  for (let at = 0; at < order.length; at++) {
    for (const dependent of dependents[order[at] as number] as number[]) {
      if (--(pending[dependent] as number) === 0 && !skips.has(dependent)) order.push(dependent);
    }
  }
  return order;
}

function problemOf(
  activities: readonly Activity[],
  order: readonly number[],
  needs: readonly (readonly number[])[],
  limits: Readonly<Record<string, number>>,
): Problem {
  const planned = order.map((index) => activities[index] as Activity);
  const resources = scarceResources(planned, limits);
  const demands = new Float64Array(order.length * resources.length);
  for (const [at, { uses }] of planned.entries()) {
    for (const [r, name] of resources.entries()) demands[at * resources.length + r] = uses[name] ?? 0;
  }
  const placeOf = new Int32Array(activities.length).fill(-1);
  for (const [at, index] of order.entries()) placeOf[index] = at;
  const lists = order.map((index) =>
    (needs[index] as readonly number[]).map((need) => placeOf[need] as number),
  );
  const neededBy: number[][] = order.map(() => []);
  for (const [at, list] of lists.entries()) for (const need of list) neededBy[need]?.push(at);
  return {
    size: order.length,
    running: planned.filter(({ state }) => state.is === "running").length,
    activity: Uint32Array.from(order),
    durations: Float64Array.from(planned, ({ duration }) => duration),
    resources,
    capacities: Float64Array.from(resources, (name) => limits[name] as number),
    demands,
    needs: flattened(lists),
    neededBy: flattened(neededBy),
  };
}

/** A resource that suffices for everything at once cannot decide anything. */
function scarceResources(
  planned: readonly Activity[],
  limits: Readonly<Record<string, number>>,
): readonly string[] {
  const wanted = new Map<string, number>();
  for (const { uses } of planned) {
    for (const [name, amount] of Object.entries(uses)) wanted.set(name, (wanted.get(name) ?? 0) + amount);
  }
  return [...wanted].flatMap(([name, amount]) => (amount > (limits[name] ?? Infinity) ? [name] : []));
}

function flattened(lists: readonly (readonly number[])[]): Neighbours {
  const start = new Uint32Array(lists.length + 1);
  for (const [at, list] of lists.entries()) start[at + 1] = (start[at] as number) + list.length;
  const targets = new Uint32Array(start[lists.length] as number);
  for (const [at, list] of lists.entries()) targets.set(list, start[at]);
  return { start, targets };
}
