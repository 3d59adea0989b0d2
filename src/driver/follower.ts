import { GENESIS, type Head, headOf } from "../ledger/index.ts";
import { replayBlock, restore, type Snapshot, State, snapshotHash } from "../scheduler/index.ts";
import { type SavedSnapshot, type Store, StoreError } from "../store/index.ts";

/** A state that follows a ledger: rebuilt from the last snapshot, then block by block. */
export class Follower {
  readonly state: State;
  /** The event after which the state was last saved; 0: never. */
  readonly snapshotSeq: number;
  readonly #store: Store;
  #head: Head;

  private constructor(store: Store, state: State, head: Head) {
    this.#store = store;
    this.state = state;
    this.snapshotSeq = head.seq;
    this.#head = head;
  }

  /** It stands at the snapshot, or at the beginning where there is no sound one. */
  static async open(store: Store): Promise<Follower> {
    const saved = await loadSound(store);
    const state = saved && restoreSound(saved);
    return saved && state
      ? new Follower(store, state, saved.head)
      : new Follower(store, new State(), GENESIS);
  }

  /** The block that was applied last. */
  get head(): Head {
    return this.#head;
  }

  /** Applies blocks until it has reached that event, or the end of what is stored. */
  async catchUp(seq: number): Promise<void> {
    if (this.#head.seq >= seq) return;
    for await (const block of this.#store.blocks(this.#head)) {
      try {
        replayBlock(this.state, block);
      } catch (cause) {
        const message = `event ${this.state.seq} cannot be replayed: ${(cause as Error).message}`;
        throw new StoreError("damaged", message, cause);
      }
      this.#head = headOf(block);
      if (this.#head.seq >= seq) return;
    }
  }
}

/** One that is damaged is done without: all blocks are there. */
async function loadSound(store: Store): Promise<SavedSnapshot | undefined> {
  try {
    return await store.loadSnapshot();
  } catch (error) {
    if (error instanceof StoreError && error.code === "damaged") return undefined;
    throw error;
  }
}

/** The state of a snapshot, if it is what it says it is; a snapshot only saves time. */
function restoreSound(saved: SavedSnapshot): State | undefined {
  try {
    const snapshot = saved.state as Snapshot;
    if (snapshot.seq !== saved.head.seq || snapshotHash(snapshot) !== saved.stateHash) return undefined;
    return restore(snapshot);
  } catch {
    return undefined;
  }
}
