import { availableParallelism, totalmem } from "node:os";
import { compareText } from "../core/index.ts";
import type { NodeSpec } from "../graph/index.ts";
import type { WorkerSpec } from "../placement/index.ts";

/**
 * Workers on this machine, one task at a time each. They share its cores and memory evenly, but each has room
 * for the largest node that the machine can hold; they serve every executor and have every capability that the
 * graph names, since they act with the rights of who runs them.
 */
export function localWorkers(count: number, nodes: readonly NodeSpec[]): WorkerSpec[] {
  const cpuMillicores = Math.max(
    Math.floor((availableParallelism() * 1000) / count),
    1000,
    largest(nodes, (node) => node.task.cpuMillicores),
  );
  const needed = Math.min(
    largest(nodes, (node) => node.task.memoryBytes),
    totalmem(),
  );
  const memoryBytes = Math.max(Math.floor(totalmem() / count), needed);
  const executors = distinct(nodes.map((node) => node.task.executor));
  const capabilities = distinct(nodes.flatMap((node) => node.task.capabilities));
  return Array.from({ length: count }, (_, index) => ({
    id: `w${String(index + 1).padStart(String(count).length, "0")}`,
    endpoint: "local",
    zone: "local",
    zones: [],
    executors,
    capabilities,
    cpuMillicores,
    memoryBytes,
    slots: 1,
  }));
}

function largest(nodes: readonly NodeSpec[], of: (node: NodeSpec) => number): number {
  return nodes.reduce((most, node) => Math.max(most, of(node)), 0);
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)].sort(compareText);
}
