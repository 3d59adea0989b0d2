import { sha256Hex } from "./hash.ts";

/**
 * The id of a node's task: derived from its run and node, so that every machine gives it the same one.
 * It has the form of a UUID, version 8 (hash-based), like the ids of single tasks.
 */
export function taskIdOf(run: string, node: string): string {
  return derivedUuid(`orrery task\n${run.length}\n${run}\n${node}`);
}

/** The id of an alternative of a node's task. Whatever runs and nodes are called, no other task has it. */
export function alternativeIdOf(task: string, tag: string): string {
  return derivedUuid(`orrery alternative\n${task}\n${tag}`);
}

/** The id of the run that an attempt of a task ends by: the nodes that it returned instead of a result. */
export function expansionIdOf(task: string, attempt: number): string {
  return derivedUuid(`orrery expansion\n${task}\n${attempt}`);
}

export function derivedUuid(text: string): string {
  const hex = sha256Hex(text);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Order by UTF-16 code unit, never by locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
