import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceStore } from "../store/index.ts";

const LOOK_EVERY_MS = 2_000;
const REACHABLE_WITHIN_MS = 2_000;

/** Looks from time to time whether a store can be reached. */
export class StoreWatch implements Disposable {
  #isReachable = true;
  #isLooking = false;
  readonly #timer: NodeJS.Timeout;

  constructor(store: Pick<ServiceStore, "isReachable">) {
    this.#timer = setInterval(() => void this.#look(store), LOOK_EVERY_MS).unref();
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(store: Pick<ServiceStore, "isReachable">): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const tooLate = sleep(REACHABLE_WITHIN_MS, false, { ref: false });
    this.#isReachable = await Promise.race([store.isReachable(), tooLate]);
    this.#isLooking = false;
  }
}
