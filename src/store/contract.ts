import type { Block, Head } from "../ledger/index.ts";

/** A state that replay may start from, with its place in the chain. The state itself is the scheduler's. */
export interface SavedSnapshot {
  readonly head: Head;
  readonly stateHash: string;
  readonly state: unknown;
}

/**
 * Where blocks are committed. Whatever it stands on, a block is taken if and only if it builds on the head,
 * and once `commit` has resolved with true the block is there for good.
 */
export interface Store extends AsyncDisposable {
  readonly head: Head;
  /** False: the head is not what the block builds on; nothing was written. */
  commit(block: Block): Promise<boolean>;
  /** All blocks in order, or those after a head. */
  blocks(after?: Head): AsyncIterable<Block>;
  saveSnapshot(snapshot: SavedSnapshot): Promise<void>;
  loadSnapshot(): Promise<SavedSnapshot | undefined>;
}

/** The world failed, or what is stored is not what was written. `code` is stable. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: "damaged" | "foreign" | "locked" | "missing" | "unreadable" | "unwritable";

  constructor(code: StoreError["code"], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
