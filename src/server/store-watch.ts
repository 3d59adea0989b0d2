import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { ServiceStore } from "../store/index.ts";

const LOOK_EVERY_MS = 500;
const REACHABLE_WITHIN_MS = 1_000;
const UNREACHABLE = "the store cannot be reached";

/** Watches whether the store can be read and written, for readiness and for requests that would wait for it in vain. */
export class StoreWatch implements Disposable {
  readonly #store: Pick<ServiceStore, "isReachable" | "trouble">;
  #isReachable = true;
  #isLooking = false;
  readonly #timer: NodeJS.Timeout;

  constructor(store: Pick<ServiceStore, "isReachable" | "trouble">) {
    this.#store = store;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Returns why the store cannot be used now; undefined if it can. */
  trouble(): string | undefined {
    return this.#isReachable ? this.#store.trouble() : UNREACHABLE;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#isReachable = await Promise.race([this.#store.isReachable(), tooLate()]);
    this.#isLooking = false;
  }
}

/** After a long computation the timer fires before the answer is read, which may have been there in time. */
async function tooLate(): Promise<false> {
  await sleep(REACHABLE_WITHIN_MS, undefined, { ref: false });
  await setImmediate();
  await setImmediate();
  return false;
}
