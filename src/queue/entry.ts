import type { PriorityClass, Tier } from "./classes.ts";
import type { HrrnBlock } from "./hrrn-block.ts";

/**
 * Something that waits: a task, or the first ready node of a run in a group. It is the caller's object; the
 * queue only notes in it where it stands, and its other fields change only within `Line.rekey`.
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
  /** Where it stands in its run: its standing (least first), then how much hangs on it, then its place in the graph. */
  readonly standing: number;
  readonly weight: number;
  readonly node: number;
  /** Where it waits by response ratio: the queue's own. */
  home?: HrrnBlock | undefined;
}
