import { sha256HexAtLeisure } from "../core/index.ts";
import type { Head } from "../ledger/index.ts";
import { type Snapshot, type State, snapshotTexts, takeSnapshot } from "../scheduler/index.ts";
import type { Store } from "../store/index.ts";

/** Events between two snapshots, where the state is small. */
const SNAPSHOT_EVERY = 100_000;
/** A task takes about as long to read from a snapshot as an event to replay, and has two or more in its life: so many times as many must have come. */
const WORTH_IT = 1.25;
/** Nothing is decided while one is taken: it waits for a rest, until there are so many times as many. */
const PUT_OFF = 4;

/** A state as it was at the end of the chain. */
export interface Taken {
  readonly head: Head;
  readonly state: Snapshot;
}

/** Takes a snapshot from time to time, and saves one at a time. */
export class Snapshots {
  readonly #store: Pick<Store, "saveSnapshot">;
  readonly #every: number;
  readonly #pause: () => Promise<unknown>;
  #lastSeq: number;
  #saving: Promise<void> | undefined;

  /** Between the parts of one that is written there is a pause, in which others have their turn. */
  constructor(
    store: Pick<Store, "saveSnapshot">,
    lastSeq: number,
    pause: () => Promise<unknown>,
    every: number = SNAPSHOT_EVERY,
  ) {
    this.#store = store;
    this.#lastSeq = lastSeq;
    this.#pause = pause;
    this.#every = every;
  }

  /** Whether one should be taken at the next rest, or at once. */
  isDue(state: State, when: "rest" | "now"): boolean {
    const events = state.seq - this.#lastSeq;
    const putOff = when === "rest" ? 1 : PUT_OFF;
    if (events < putOff * this.#every || this.#saving) return false;
    let size = state.singles.all.size;
    for (const run of state.runs.values()) size += run.graph.size;
    return events >= Math.max(putOff, WORTH_IT) * size;
  }

  /** The state was rebuilt from a snapshot that was taken at this event. */
  goBack(lastSeq: number): void {
    this.#lastSeq = lastSeq;
  }

  take(state: State, tip: Head): Taken {
    this.#lastSeq = state.seq;
    return { head: tip, state: takeSnapshot(state) };
  }

  /** It only saves time: one that cannot be written is as good as none, and nothing waits for it. */
  save(taken: Taken): void {
    this.#saving = this.#write(taken)
      .catch(() => {})
      .finally(() => {
        this.#saving = undefined;
      });
  }

  async saved(): Promise<void> {
    await this.#saving;
  }

  async #write({ head, state }: Taken): Promise<void> {
    const stateHash = await sha256HexAtLeisure(snapshotTexts(state), this.#pause);
    await this.#store.saveSnapshot({ head, stateHash, state }, this.#pause);
  }
}
