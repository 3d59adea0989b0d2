import type { Follower } from "../driver/index.ts";
import type { ServiceStore } from "../store/index.ts";

export interface TermOptions {
  readonly store: Pick<ServiceStore, "beat" | "release">;
  readonly epoch: number;
  /** All that was committed before it. */
  readonly follower: Follower;
  /** When leadership was asked for, on the monotonic clock. */
  readonly wonAtMs: number;
  /** Undefined: nobody else can take over, so there is nobody to be alive for. */
  readonly leaseMs: number | undefined;
}

/** One leader's time, from taking over to being deposed or letting go. */
export class Term {
  readonly epoch: number;
  readonly follower: Follower;
  /** Settles when another one leads. */
  readonly deposed: Promise<void>;
  readonly #store: TermOptions["store"];
  readonly #leaseMs: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #confirmedMs: number;
  #confirming: Promise<boolean> | undefined;
  #depose: () => void = () => {};

  constructor({ store, epoch, follower, wonAtMs, leaseMs }: TermOptions) {
    this.#store = store;
    this.epoch = epoch;
    this.follower = follower;
    this.#leaseMs = leaseMs;
    this.#confirmedMs = wonAtMs;
    this.deposed = new Promise((resolve) => {
      this.#depose = resolve;
    });
    if (leaseMs !== undefined) this.#timer = setInterval(() => void this.confirm(), leaseMs / 3).unref();
  }

  /** Whether nobody else can have taken over by now. A process that stood still for long does not know. */
  get isCertain(): boolean {
    return this.#leaseMs === undefined || performance.now() - this.#confirmedMs < this.#leaseMs;
  }

  /** Finds out whether it still leads, and shows the others that it does. */
  confirm(): Promise<boolean> {
    this.#confirming ??= this.#beat().finally(() => {
      this.#confirming = undefined;
    });
    return this.#confirming;
  }

  /** Lets the next one lead at once. Nothing may be committed after it. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    // Where the store cannot be reached, the others wait for the lease.
    await this.#store.release().catch(() => {});
  }

  async #beat(): Promise<boolean> {
    const startedMs = performance.now();
    try {
      if (await this.#store.beat()) {
        this.#confirmedMs = startedMs;
        return true;
      }
      clearInterval(this.#timer);
      this.#depose();
    } catch {
      // The store cannot be reached: neither can it be by those who would take over, as far as one can tell here.
    }
    return false;
  }
}
