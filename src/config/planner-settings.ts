import type { Risk } from "../plan/index.ts";
import { setting } from "./setting.ts";
import { choice, duration, list, TRUE_OR_FALSE, whole } from "./value-type.ts";

const readers = ["plan"] as const;
const everywhere = ["plan", "serve", "run"] as const;
const isSpecified = true as const;

/** A tag for each: `speculate:primary`, `alt1`, `alt2` and so on. */
const MAX_ALTERNATIVES = 10;

/** Named here once more, so that reading a file loads nothing of the planner. */
const RISKS: readonly Risk[] = ["low", "medium", "high", "critical"];

export const SCHEDULING = {
  maxConcurrentWorkcells: setting({
    key: "max_concurrent_workcells",
    type: whole(1, 10_000),
    default: 4,
    about: "How many nodes run at once, a workcell each",
    readers,
    isSpecified,
  }),
  maxConcurrentTokens: setting({
    key: "max_concurrent_tokens",
    type: whole(1),
    default: 500_000,
    about: "How many tokens the running ones may hold together",
    readers: everywhere,
    isSpecified,
  }),
  schedulingIntervalMs: setting({
    key: "scheduling_interval_seconds",
    type: duration({ leastMs: 100, mostMs: 86_400_000, isNamed: true }),
    default: 30_000,
    about: "How often the ready set is looked at again, at the latest; every event does so at once",
    readers: ["plan", "serve"],
    isSpecified,
  }),
  starvationThresholdMs: setting({
    key: "starvation_threshold_hours",
    type: duration({ leastMs: 1, plain: "hours", isNamed: true }),
    default: 4 * 3_600_000,
    about: "What is ready for longer rises by one priority; after six times as long it goes first",
    readers: everywhere,
    isSpecified,
  }),
};

export const SPECULATION = {
  enabled: setting({
    key: "enabled",
    type: TRUE_OR_FALSE,
    default: true,
    about: "Whether anything is tried in several alternatives at once; false beats all other keys",
    readers: everywhere,
    isSpecified,
  }),
  defaultParallelism: setting({
    key: "default_parallelism",
    type: whole(1, MAX_ALTERNATIVES),
    default: 2,
    about: "How many alternatives run side by side",
    readers: everywhere,
    isSpecified,
  }),
  maxParallelism: setting({
    key: "max_parallelism",
    type: whole(1, MAX_ALTERNATIVES),
    default: 3,
    about: "The most alternatives that a node gets",
    readers: everywhere,
    isSpecified,
  }),
  autoTriggerOnCriticalPath: setting({
    key: "auto_trigger_on_critical_path",
    type: TRUE_OR_FALSE,
    default: true,
    about: "Whether risky nodes on the critical path get alternatives without asking",
    readers: everywhere,
    isSpecified,
  }),
  autoTriggerRiskLevels: setting({
    key: "auto_trigger_risk_levels",
    type: list(choice(...RISKS), "[high, critical]"),
    default: ["high", "critical"],
    about: "Which risks count as risky for that",
    readers: everywhere,
    isSpecified,
  }),
  forceSpeculate: setting({
    key: "force_speculate",
    type: TRUE_OR_FALSE,
    default: false,
    about: "Whether every node gets alternatives",
    readers: everywhere,
  }),
};
