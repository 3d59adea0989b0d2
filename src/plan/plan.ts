import type { BoundCause } from "./lower-bound.ts";
import type { HoldCode } from "./project.ts";

/** A whole schedule ahead. Times are ticks of the project. */
export interface Plan {
  readonly mode: "online" | "plan";
  readonly makespan: number;
  /** No schedule can be shorter. */
  readonly lowerBound: number;
  readonly lowerBoundBy: BoundCause;
  /** By how much the makespan exceeds the bound, as a share of the bound; 0 when it is proved optimal. */
  readonly gap: number;
  /** By start, then lane, then the order of the file. */
  readonly schedule: readonly Scheduled[];
  /** The ready ones in the order in which they go, with what put each there. */
  readonly order: readonly { readonly id: string; readonly reason: OrderReason }[];
  readonly criticalPath: { readonly ids: readonly string[]; readonly length: number };
  readonly ready: readonly string[];
  /** What does not start now, or never will by this plan. */
  readonly skipped: ReadonlyMap<string, Skip>;
  readonly cycles: readonly (readonly string[])[];
  readonly dangling: readonly { readonly id: string; readonly needs: string }[];
  /** How many schedules were tried. */
  readonly schedules: number;
}

export interface Scheduled {
  readonly id: string;
  readonly start: number;
  readonly finish: number;
  /** From 0 on; a node has its lane for itself while it runs. */
  readonly lane: number;
  readonly resources: Readonly<Record<string, number>>;
  readonly critical: boolean;
  /** By how much it can be late without making the critical path longer. */
  readonly slack: number;
  /** Where it is tried in several ways. Each has a lane, the first that of the node. */
  readonly alternatives?: readonly { readonly tag: string; readonly lane: number }[];
}

/** The first of these that told it from the next in the order. */
export interface OrderReason {
  readonly code:
    | "starved"
    | "critical-path"
    | "priority"
    | "risk"
    | "holds-up"
    | "age"
    | "submitted"
    | "only";
  readonly slack: number;
  readonly holdsUp: number;
}

export type Skip =
  | { readonly code: "no_slots"; readonly free: number }
  | {
      readonly code: "token_limit" | "resource_limit";
      readonly resource: string;
      readonly needed: number;
      readonly free: number;
    }
  | {
      readonly code: "Unsatisfiable";
      readonly resource: string;
      readonly needed: number;
      readonly capacity: number;
    }
  | { readonly code: "Dependencies"; readonly waitsFor: readonly string[] }
  | { readonly code: "Cycle"; readonly cycle: readonly string[] }
  | { readonly code: "Held"; readonly because: HoldCode; readonly detail: string }
  | { readonly code: "Reserved"; readonly for: string };
