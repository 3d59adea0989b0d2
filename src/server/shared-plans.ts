/** A plan of so many nodes is made for each who asks. */
const FEW_NODES = 2_000;
/** A larger one is told again for so many times as long as it took: planning takes a quarter of the time at most. */
const PAUSES = 3;

interface Sized {
  readonly rows: readonly unknown[];
}

/**
 * A plan of a large run takes a second in which little else happens. So one is made at a time, and who asks for one that
 * is being made, or just was, gets that one: thousands of questions cost as much as a few.
 */
export class SharedPlans<Plan extends Sized> {
  readonly #known = new Map<string, Promise<Plan>>();
  readonly #now: () => number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(now: () => number) {
    this.#now = now;
  }

  of(runId: string, make: () => Promise<Plan>): Promise<Plan> {
    const known = this.#known.get(runId);
    if (known) return known;
    const plan = this.#last.then(() => this.#made(runId, make));
    this.#last = plan.catch(() => undefined);
    this.#known.set(runId, plan);
    return plan;
  }

  async #made(runId: string, make: () => Promise<Plan>): Promise<Plan> {
    const startedAt = this.#now();
    let keepMs = 0;
    try {
      const plan = await make();
      if (plan.rows.length > FEW_NODES) keepMs = PAUSES * (this.#now() - startedAt);
      return plan;
    } finally {
      if (keepMs > 0) setTimeout(() => this.#known.delete(runId), keepMs).unref();
      else this.#known.delete(runId);
    }
  }
}
