import type { Priority, Risk } from "../graph/index.ts";

/**
 * What a plan is made for, whatever file it came from: nodes that take time, need one another and hold amounts of
 * resources while they run. Times are whole ticks (milliseconds, or the units of a file that has no clock), so that
 * no order depends on rounding.
 */
export interface Project {
  readonly name: string;
  readonly unit: Unit;
  /** In the order of the file, which is the order of submission. Ids are unique. */
  readonly activities: readonly Activity[];
  /** What there is of each resource, where the file says it. What has no capacity anywhere is not limited. */
  readonly capacities: Readonly<Record<string, number>>;
  /** What was wrong with the file and survived. */
  readonly findings: readonly Finding[];
}

/** What people read: `ticks` of them are one. */
export interface Unit {
  readonly name: "hours" | "seconds" | "units";
  readonly ticks: number;
}

export interface Activity {
  readonly id: string;
  readonly title?: string;
  /** Ids of what blocks it. They may be unknown (dangling: reported, and does not block) or form a cycle. */
  readonly needs: readonly string[];
  /** Ticks, a whole number from 0 on. */
  readonly duration: number;
  /** Amounts that it holds while it runs, whole numbers from 0 on: `slots` (1), `tokens`, or any name. */
  readonly uses: Readonly<Record<string, number>>;
  readonly priority: Priority;
  readonly risk: Risk;
  /** It asks for several alternatives. */
  readonly speculate: boolean;
  readonly state: ActivityState;
  /** For how long it has been ready, where somebody noted that. */
  readonly readyForMs?: number;
  /** What came of that: it counts as more urgent by a level, or goes before everything else. */
  readonly wait?: "raised" | "starved";
}

export type ActivityState =
  | { readonly is: "open" }
  /** Counts against the resources from the start of the plan on, for its whole duration. */
  | { readonly is: "running" }
  | { readonly is: "done" }
  /** Not to be started by a plan; what hangs on it waits with it. */
  | { readonly is: "held"; readonly code: HoldCode; readonly detail: string };

/** Why something that is not done cannot be planned. */
export type HoldCode =
  | "held"
  | "blocked-status"
  | "deferred"
  | "pinned"
  | "ephemeral"
  | "not-work"
  | "needs-human"
  | "no-attempts-left"
  | "waits-for-children"
  | "blocked-parent";

/** Dirt in a file that reading it survived. */
export interface Finding {
  readonly line: number;
  readonly id?: string;
  readonly code: string;
  readonly message: string;
}
