import type { Head } from "../ledger/index.ts";
import { type State, snapshotHash, takeSnapshot } from "../scheduler/index.ts";
import type { SavedSnapshot, Store } from "../store/index.ts";

/** Events between two snapshots, where the state is small; a large one is not written out more often than it changes. */
const SNAPSHOT_EVERY = 100_000;
/** Nothing is decided while one is taken: it waits for a rest, until there are so many times as many. */
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

  /** Whether one should be taken at the next rest, or at once. */
  isDue(state: State, when: "rest" | "now"): boolean {
    const events = (state.seq - this.#lastSeq) / (when === "rest" ? 1 : PUT_OFF);
    if (events < this.#every || this.#saving) return false;
    let size = state.singles.all.size;
    for (const run of state.runs.values()) size += run.graph.size;
    return events >= size;
  }

  /** The state as it is at the end of the chain. */
  take(state: State, tip: Head): SavedSnapshot {
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
