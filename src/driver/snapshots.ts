import type { Head } from "../ledger/index.ts";
import { type State, snapshotHash, takeSnapshot } from "../scheduler/index.ts";
import type { SavedSnapshot, Store } from "../store/index.ts";

/** Events between two snapshots, where the state is small; a large one is not written out more often than it changes. */
const SNAPSHOT_EVERY = 100_000;
/** Nothing is decided while one is taken: a driver with much to do puts it off, until there are so many times as many. */
const PUT_OFF = 4;

/** Takes a snapshot from time to time, and saves one at a time. */
export class Snapshots {
  readonly #store: Pick<Store, "saveSnapshot">;
  readonly #every: number;
  #lastSeq: number;
  #saving: Promise<void> | undefined;

  constructor(store: Pick<Store, "saveSnapshot">, lastSeq: number, every: number = SNAPSHOT_EVERY) {
    this.#store = store;
    this.#lastSeq = lastSeq;
    this.#every = every;
  }

  /** The state as it is at the end of the chain. */
  takeIfDue(state: State, tip: Head, isBusy: boolean): SavedSnapshot | undefined {
    const events = (state.seq - this.#lastSeq) / (isBusy ? PUT_OFF : 1);
    if (events < this.#every || this.#saving) return undefined;
    let size = state.singles.all.size;
    for (const run of state.runs.values()) size += run.graph.size;
    if (events < size) return undefined;
    this.#lastSeq = state.seq;
    const snapshot = takeSnapshot(state);
    return { head: tip, stateHash: snapshotHash(snapshot), state: snapshot };
  }

  /** It only saves time: one that cannot be written is as good as none, and nothing waits for it. */
  save(snapshot: SavedSnapshot): void {
    this.#saving = this.#store
      .saveSnapshot(snapshot)
      .catch(() => {})
      .finally(() => {
        this.#saving = undefined;
      });
  }

  async saved(): Promise<void> {
    await this.#saving;
  }
}
