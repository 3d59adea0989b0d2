import { setTimeout as sleep } from "node:timers/promises";
import type { Driver } from "../driver/index.ts";
import type { ServiceStore } from "../store/index.ts";

const LOOK_EVERY_MS = 2_000;
const REACHABLE_WITHIN_MS = 2_000;

/** Looks at a store from time to time: whether it can be reached, and whether it is still ours. */
export class StoreWatch implements Disposable {
  #isReachable = true;
  readonly #timers: readonly NodeJS.Timeout[];

  constructor(store: ServiceStore, driver: Driver, onTakenOver: () => void) {
    this.#timers = [
      everyNowAndThen(async () => {
        const tooLate = sleep(REACHABLE_WITHIN_MS, false, { ref: false });
        this.#isReachable = await Promise.race([store.isReachable(), tooLate]);
      }),
      everyNowAndThen(async () => {
        if (this.#isReachable && (await isTakenOver(store, driver))) onTakenOver();
      }),
    ];
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
  }
}

/**
 * Whether another process has moved the head: an idle server would not notice until it commits. Our own commits move
 * it too, so it is read between two moments without one, and what was seen while there was one says nothing.
 */
async function isTakenOver(store: ServiceStore, driver: Driver): Promise<boolean> {
  const before = await driver.read(() => store.head);
  const stored = await store.refresh();
  const after = await driver.read(() => store.head);
  return before.hash === after.hash && stored.hash !== after.hash;
}

/** One look at a time. One that fails says nothing: whoever uses the store is told of the failure too. */
function everyNowAndThen(look: () => Promise<void>): NodeJS.Timeout {
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look()
      .catch(() => {})
      .finally(() => {
        isLooking = false;
      });
  }, LOOK_EVERY_MS);
  return timer.unref();
}
