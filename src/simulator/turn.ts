import type { Block } from "../ledger/index.ts";
import type { Stimulus } from "../scheduler/index.ts";
import type { KeyedTask, RowChanges } from "../store/index.ts";

/** A turn as it can be seen from outside: what it was given, and what was stored of it. */
export interface Turn {
  readonly now: number;
  readonly stimuli: readonly Stimulus[];
  /** The keys that came with them, in the same order. */
  readonly keys: readonly (KeyedTask | undefined)[];
  /** Undefined if it recorded nothing. */
  readonly block: Block | undefined;
  readonly rows: RowChanges | undefined;
}
