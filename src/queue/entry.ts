import type { PriorityClass, Tier } from "./classes.ts";

/**
 * Something that waits: a task, or the first ready node of a run in a group. It is the caller's object; the
 * queue only reads it, and its fields change only within `Line.rekey`.
 */
export interface Entry {
  /** Ends every tie, by code unit. */
  readonly id: string;
  /** The wait counts from here. Never in the future. */
  readonly readyAt: number;
  /** A positive integer. */
  readonly estimateMs: number;
  /** After boost. */
  readonly tier: Tier;
  /** After boost and io_wait. */
  readonly class: PriorityClass;
  /** -1: none. */
  readonly deadline: number;
  /** Of the event that submitted it. */
  readonly seq: number;
  /** How much work hangs on it, and its place in its graph. Only graph order looks at them. */
  readonly holdsUpMs: number;
  readonly node: number;
}
