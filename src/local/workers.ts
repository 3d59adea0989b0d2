import { availableParallelism, totalmem } from "node:os";
import { compareText } from "../core/index.ts";
import type { NodeSpec } from "../graph/index.ts";
import type { WorkerSpec } from "../placement/index.ts";

/** The part of the machine that a run may use. */
export interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
}

export function thisMachine(): Machine {
  return { cores: availableParallelism(), memoryBytes: totalmem() };
}

/**
 * Workers that share the machine evenly, so that together they never hold more than it has.
 *
 * Asked for a number, there are that many, one task at a time each; more of them than cores count a core each,
 * since who asks for it has tasks that mostly wait. Otherwise there are as many as leave each large enough for
 * the largest node, and each takes as many tasks at a time as its share has cores.
 *
 * They serve every executor and have every capability that the graph names: they act with the rights of who
 * runs them.
 */
export function localWorkers(
  machine: Machine,
  asked: number | undefined,
  nodes: readonly NodeSpec[],
): WorkerSpec[] {
  const count = asked ?? fittingWorkers(machine, nodes);
  const cores = asked === undefined ? machine.cores : Math.max(machine.cores, asked);
  const executors = distinct(nodes.map((node) => node.task.executor));
  const capabilities = distinct(nodes.flatMap((node) => node.task.capabilities));
  return Array.from({ length: count }, (_, index) => ({
    id: `w${String(index + 1).padStart(String(count).length, "0")}`,
    endpoint: "local",
    zone: "local",
    zones: [],
    executors,
    capabilities,
    cpuMillicores: Math.floor((cores * 1000) / count),
    memoryBytes: Math.floor(machine.memoryBytes / count),
    slots: asked === undefined ? Math.floor(cores / count) : 1,
  }));
}

function fittingWorkers({ cores, memoryBytes }: Machine, nodes: readonly NodeSpec[]): number {
  const byCpu = (cores * 1000) / largest(nodes, (node) => node.task.cpuMillicores);
  const byMemory = memoryBytes / largest(nodes, (node) => node.task.memoryBytes);
  return Math.max(1, Math.floor(Math.min(cores, byCpu, byMemory)));
}

function largest(nodes: readonly NodeSpec[], of: (node: NodeSpec) => number): number {
  return nodes.reduce((most, node) => Math.max(most, of(node)), 0);
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)].sort(compareText);
}
