import type { BoundCause, Plan, Project, Skip, Unit } from "../plan/index.ts";
import { formatCount, formatMs, neutralise } from "../words/index.ts";
import { CLOCK, COUNT, type Ruler } from "./time-scale.ts";

/** Ticks as a number of what people read. */
export function inUnit(ticks: number, unit: Unit): number {
  return ticks / unit.ticks;
}

/** "12 h", "1m 05s", or a plain number. */
export function formatTicks(ticks: number, unit: Unit): string {
  const value = inUnit(ticks, unit);
  if (unit.name === "seconds") return value === 0 ? "0s" : formatMs(Math.round(value * 1_000));
  const [whole = "", fraction] = String(Math.round(value * 100) / 100).split(".");
  const number = `${formatCount(Number(whole))}${fraction === undefined ? "" : `.${fraction}`}`;
  return unit.name === "hours" ? `${number} h` : number;
}

/** What the marks of an axis stand for, and how many of them are one tick. */
export function rulerOf(unit: Unit): { readonly ruler: Ruler; readonly perTick: number } {
  const MS = { hours: 3_600_000, seconds: 1_000, units: 1 };
  return { ruler: unit.name === "units" ? COUNT : CLOCK, perTick: MS[unit.name] / unit.ticks };
}

/** Why a ready node stands where it does. */
export function describeOrder({ order }: Plan, at: number, unit: Unit): string {
  const { code, holdsUp } = (order[at] as Plan["order"][number]).reason;
  const behind = formatTicks(holdsUp, unit);
  switch (code) {
    case "starved":
      return "ready for too long";
    case "critical-path":
      return `on the critical path, ${behind}`;
    case "priority":
      return "a higher priority than the next";
    case "risk":
      return "a higher risk than the next";
    case "holds-up":
      return `holds up most of the rest, ${behind}`;
    case "age":
      return "ready for longer than the next";
    case "submitted":
      return "before the next in the file";
    case "only":
      return order.length === 1 ? "nothing else is ready" : `the last of these, holds up ${behind}`;
  }
}

/** Why a node does not start now, or never will by this plan. */
export function describeSkip(skip: Skip): string {
  switch (skip.code) {
    case "no_slots":
      return `no_slots: ${skip.free === 0 ? "no slot is free" : `too few slots are free (${skip.free})`}`;
    case "token_limit":
    case "resource_limit":
      return `${skip.code}: needs ${amount(skip.needed, skip.resource)}, ${formatCount(skip.free)} free`;
    case "Unsatisfiable":
      return `needs ${amount(skip.needed, skip.resource)}, and there ${skip.capacity === 1 ? "is" : "are"} only ${formatCount(skip.capacity)}`;
    case "Dependencies":
      return `waits for ${listed(skip.waitsFor)}`;
    case "Cycle":
      return `is in a cycle: ${describeCycle(skip.cycle)}`;
    case "Held":
      return `${HELD[skip.because]}${skip.detail === "" ? "" : ` (${neutralise(skip.detail)})`}`;
    case "Reserved":
      return `Reserved: it would fit now, but room is kept for ${neutralise(skip.for)}`;
  }
}

const HELD: Readonly<Record<Extract<Skip, { code: "Held" }>["because"], string>> = {
  held: "is held until a person releases it",
  "blocked-status": "is marked as blocked",
  deferred: "is deferred",
  pinned: "is pinned",
  ephemeral: "is ephemeral",
  "not-work": "is no work",
  "needs-human": "needs a person",
  "no-attempts-left": "has no attempts left",
  "waits-for-children": "waits for its children",
  "blocked-parent": "its parent is blocked",
};

/** What people call nodes: the id of each, and its title where it has one. */
export function labelsOf({ activities }: Project, ids: Iterable<string>): ReadonlyMap<string, string> {
  const labels = new Map(Array.from(ids, (id) => [id, neutralise(id)]));
  for (const { id, title } of activities) {
    if (title !== undefined && title !== id && labels.has(id)) labels.set(id, neutralise(`${id} ${title}`));
  }
  return labels;
}

/** What a plan would have to change to be shorter than its lower bound. */
export function describeBound(by: BoundCause): string {
  switch (by.code) {
    case "critical-path":
      return "the critical path";
    case "running":
      return "what runs already";
    case "resource":
      return neutralise(by.resource);
    case "refutation":
      return "what cannot run side by side";
  }
}

/** Each node needs the next. */
export function describeCycle(cycle: readonly string[]): string {
  const shown = cycle.length <= MOST_LISTED ? cycle : [...cycle.slice(0, MOST_LISTED), "…"];
  return [...shown, cycle[0] ?? ""].map(neutralise).join(" → ");
}

/** Of what has a name of its own nobody knows the singular. */
const SINGULAR = new Map([
  ["slots", "slot"],
  ["tokens", "token"],
]);

export function amount(count: number, resource: string): string {
  const name = count === 1 ? (SINGULAR.get(resource) ?? resource) : resource;
  return `${formatCount(count)} ${neutralise(name)}`;
}

const MOST_LISTED = 5;

export function listed(ids: readonly string[]): string {
  const shown = ids.slice(0, MOST_LISTED).map(neutralise).join(", ");
  return ids.length <= MOST_LISTED ? shown : `${shown} and ${formatCount(ids.length - MOST_LISTED)} more`;
}
