import type { BudgetPart } from "../graph/index.ts";
import type { Lack, OneChange } from "../scheduler/index.ts";
import { countOf, formatBytes, formatCores, formatCount, formatMs, formatTime } from "./quantities.ts";
import { neutralise } from "./safe-text.ts";

/** What a worker has too little of; types of tasks apart from what else it is capable of. */
export interface ToldLack extends Lack {
  readonly types?: readonly string[];
}

/** A change whose workers are told so. */
export type ToldChange =
  | OneToldChange
  | { readonly kind: "together"; readonly changes: readonly OneToldChange[] };

export type OneToldChange =
  | Exclude<OneChange, { kind: "worker" }>
  | (Extract<OneChange, { kind: "worker" }> & { readonly adds: ToldLack });

/** What would have to be so, to follow "it would start sooner if". */
export function describeChange(change: ToldChange): string {
  switch (change.kind) {
    case "resume":
      return change.executors.map(describeResumed).join(" and ");
    case "agent-limit":
      return `${neutralise(change.agent)} could run ${countOf(change.to, "task")} at once, not ${formatCount(change.from)}`;
    case "limit":
      return `the limit ${neutralise(change.limit)} had room for ${formatCount(change.to)} at once, not ${formatCount(change.from)}`;
    case "rate":
      return `the limit ${neutralise(change.limit)} let ${formatCount(change.to)} start every ${formatMs(change.periodMs)}, not ${formatCount(change.from)}`;
    case "worker":
      return describeWorker(change);
    case "priority":
      return `it were cancelled and submitted again with the priority ${change.to}, not ${change.from}`;
    case "at-once":
      return `it were cancelled and submitted again to run at once, not at ${formatTime(change.dueAt)}`;
    case "cancel":
      return `${neutralise(change.task.node ?? change.task.id)} ended now or were cancelled`;
    case "recharge":
      return `${neutralise(change.task.node ?? change.task.id)}, which has used up its ${PART_WORDS[change.part]}, were recharged`;
    case "together":
      return change.changes.map(describeChange).join(", and ");
  }
}

const PART_WORDS: Record<BudgetPart, string> = {
  ops: "operations",
  memory: "memory",
  spawnCount: "spawns",
  channelOps: "channel operations",
  syscalls: "system calls",
};

function describeResumed(executor: string): string {
  return executor === "" ? "the zone were resumed" : `the executor ${neutralise(executor)} were resumed`;
}

function describeWorker({ count, like, adds }: Extract<OneToldChange, { kind: "worker" }>): string {
  if (like === undefined) return `there were a worker with ${listLack(adds, "")}`;
  const name = neutralise(like);
  const lacks = listLack(adds, "more ");
  if (lacks !== "") return `there were a worker like ${name} that also had ${lacks}`;
  return `there were ${count === 1 ? "one more worker" : `${formatCount(count)} more workers`} like ${name}`;
}

function listLack(lack: ToldLack, more: string): string {
  const { executor, capabilities = [], types = [], cpuMillicores, memoryBytes } = lack;
  return [
    ...(executor === undefined ? [] : [`the executor ${executor}`]),
    ...types.map((type) => `the task type ${type}`),
    ...capabilities.map((capability) => `the capability ${capability}`),
    ...(cpuMillicores === undefined
      ? []
      : [`${formatCores(cpuMillicores)} ${more}${cpuMillicores === 1_000 ? "core" : "cores"}`]),
    ...(memoryBytes === undefined ? [] : [`${formatBytes(memoryBytes)} ${more}of memory`]),
  ]
    .map(neutralise)
    .join(", ");
}
