import { setImmediate } from "node:timers/promises";
import { ChainVerifier, type Damage, type Head } from "../ledger/index.ts";
import { type ServiceStore, StoreError } from "../store/index.ts";

/** How long one look goes on; the next one goes on from there. */
const LOOK_FOR_MS = 100;
/** Blocks between two looks at the clock, after which others have their turn. */
const TURN = 16;

export interface LedgerStanding {
  readonly head: Head;
  /** All events up to this one are as they were written, each block on the one before it. */
  readonly verifiedTo: number;
  readonly damage: Damage | undefined;
}

/** Reads the stored ledger again, from its beginning and a little at a time, and keeps to it as it grows. */
export class LedgerCheck {
  readonly #store: Pick<ServiceStore, "head" | "blocks">;
  readonly #verifier = new ChainVerifier();
  #damage: Damage | undefined;
  #looking: Promise<void> | undefined;

  constructor(store: Pick<ServiceStore, "head" | "blocks">) {
    this.#store = store;
  }

  async goOn(): Promise<LedgerStanding> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
    return { head: this.#store.head, verifiedTo: this.#verifier.head.seq, damage: this.#damage };
  }

  async #look(): Promise<void> {
    if (this.#damage || this.#verifier.head.seq === this.#store.head.seq) return;
    const startedMs = performance.now();
    let looked = 0;
    try {
      for await (const { line } of this.#store.blocks(this.#verifier.head)) {
        const read = this.#verifier.accept(line);
        if ("code" in read) {
          this.#damage = read;
          return;
        }
        looked += 1;
        if (looked % TURN !== 0) continue;
        if (performance.now() - startedMs > LOOK_FOR_MS) return;
        await setImmediate();
      }
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "damaged") throw error;
      this.#damage = { seq: this.#verifier.head.seq + 1, code: "not a block", detail: error.message };
    }
  }
}
