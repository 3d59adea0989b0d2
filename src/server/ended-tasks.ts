import type { Fact } from "../driver/index.ts";

const ENDS: ReadonlySet<string> = new Set(["AttemptFinished", "VoteTaken", "TaskFailed", "TaskCancelled"]);

/** Those who wait for tasks or runs to end. */
export class EndedTasks {
  readonly #waiting = new Map<string, Set<() => void>>();

  follow(facts: readonly Fact[]): void {
    if (this.#waiting.size === 0) return;
    for (const { event, about } of facts) {
      const id = about?.task?.id;
      // What was skipped has no event of its own: whoever waits for a node of the run looks again.
      if (event.kind === "TasksSkipped" || event.kind === "RunEnded")
        for (const all of this.#waiting.values()) wake(all);
      else if (id !== undefined && ENDS.has(event.kind)) wake(this.#waiting.get(id));
    }
  }

  /** What is found when it has ended, when the time is over, or when nobody wants to know any more. */
  async untilEnded<Found>(
    id: string,
    { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
    look: () => Promise<{ readonly found: Found; readonly isOpen: boolean }>,
  ): Promise<Found> {
    const until = performance.now() + waitMs;
    for (;;) {
      const leftMs = until - performance.now();
      // From before it is looked at: an end in between is not missed.
      const ended = this.#wait(id, Math.max(0, leftMs), signal);
      try {
        const { found, isOpen } = await look();
        if (!isOpen || leftMs <= 0 || signal.aborted) return found;
        await ended.promise;
      } finally {
        ended.cancel();
      }
    }
  }

  /** Resolves when the task has ended, the time is over, or nobody wants to know any more. */
  #wait(
    id: string,
    waitMs: number,
    signal: AbortSignal,
  ): { readonly promise: Promise<void>; cancel(): void } {
    let cancel = () => {};
    const promise = new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        this.#waiting.get(id)?.delete(done);
        if (this.#waiting.get(id)?.size === 0) this.#waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      const ofTask = this.#waiting.get(id) ?? new Set();
      ofTask.add(done);
      this.#waiting.set(id, ofTask);
      signal.addEventListener("abort", done, { once: true });
      cancel = done;
    });
    return { promise, cancel };
  }
}

function wake(waiting: Set<() => void> | undefined): void {
  for (const done of [...(waiting ?? [])]) done();
}
