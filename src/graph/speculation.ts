import type { Risk } from "./risk.ts";

/** When several alternatives of one node are run side by side, to vote on. */
export interface SpeculationSettings {
  /** `false` beats everything, also a node that asks. */
  readonly enabled: boolean;
  readonly defaultParallelism: number;
  readonly maxParallelism: number;
  readonly autoTriggerOnCriticalPath: boolean;
  readonly autoTriggerRiskLevels: readonly Risk[];
  /** For every node. */
  readonly forceSpeculate: boolean;
}

export const DEFAULT_SPECULATION: SpeculationSettings = {
  enabled: true,
  defaultParallelism: 2,
  maxParallelism: 3,
  autoTriggerOnCriticalPath: true,
  autoTriggerRiskLevels: ["high", "critical"],
  forceSpeculate: false,
};

export interface SpeculationCandidate {
  /** It asks for alternatives itself. */
  readonly speculate: boolean;
  readonly risk: Risk;
  readonly critical: boolean;
  /** What one alternative takes. */
  readonly slots: number;
  readonly tokens: number;
}

/** What is free, before anything of the node is placed. */
export interface Spare {
  readonly slots: number;
  readonly tokens: number;
}

export type Speculation =
  | { readonly alternatives: number; readonly because: SpeculationCause }
  /** `why` is undefined where nothing calls for it. */
  | { readonly alternatives: 1; readonly why: "disabled" | "no_slots" | "token_limit" | undefined };

export type SpeculationCause = "asked" | "forced" | "risk-on-critical-path";

/** Beside the slot of the node itself: work that others could do is not given up for a second opinion. */
const SPARE_SLOTS = 2;

/**
 * How many alternatives of a node start together: those for which slots and tokens are there, all of them before
 * any starts, so that no alternative goes over a limit later. Where not even two fit, it runs once.
 */
export function speculationOf(
  node: SpeculationCandidate,
  settings: SpeculationSettings,
  spare: Spare,
): Speculation {
  const because = causeOf(node, settings);
  if (because === undefined) return { alternatives: 1, why: undefined };
  if (!settings.enabled) return { alternatives: 1, why: "disabled" };
  if (spare.slots - node.slots < SPARE_SLOTS) return { alternatives: 1, why: "no_slots" };
  const wanted = Math.min(settings.defaultParallelism, settings.maxParallelism);
  const bySlots = Math.min(wanted, timesIn(node.slots, spare.slots));
  if (bySlots < 2) return { alternatives: 1, why: wanted < 2 ? "disabled" : "no_slots" };
  const alternatives = Math.min(bySlots, timesIn(node.tokens, spare.tokens));
  return alternatives < 2 ? { alternatives: 1, why: "token_limit" } : { alternatives, because };
}

function causeOf(node: SpeculationCandidate, settings: SpeculationSettings): SpeculationCause | undefined {
  if (node.speculate) return "asked";
  if (settings.forceSpeculate) return "forced";
  const isRisky = settings.autoTriggerRiskLevels.includes(node.risk);
  return isRisky && node.critical && settings.autoTriggerOnCriticalPath ? "risk-on-critical-path" : undefined;
}

function timesIn(amount: number, total: number): number {
  return amount === 0 ? Number.POSITIVE_INFINITY : Math.floor(total / amount);
}

/** `speculate:primary`, `speculate:alt1`, `speculate:alt2` … */
export function speculationTag(alternative: number): string {
  return `speculate:${alternative === 0 ? "primary" : `alt${alternative}`}`;
}
