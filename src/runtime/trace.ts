import type { Observer, Slice, Steal } from "./observer.ts";

/** An event of the format that chrome://tracing and Perfetto open. Times are in microseconds. */
export interface TraceEvent {
  readonly name: string;
  readonly cat: "fiber" | "steal";
  readonly ph: "X" | "i";
  readonly ts: number;
  readonly dur?: number;
  readonly pid: 1;
  readonly tid: number;
  readonly s?: "t";
  readonly args: Readonly<Record<string, number>>;
}

export interface ChromeTrace {
  readonly traceEvents: readonly TraceEvent[];
  /** Events that were too many. */
  readonly otherData: { readonly omitted: number };
}

/** Keeps what fibers ran and who stole from whom, up to a limit. */
export class Tracer {
  readonly #events: TraceEvent[] = [];
  readonly #limit: number;
  #omitted = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** An observer that keeps, and tells another one. */
  beside(other: Observer): Observer {
    return {
      ...other,
      ran: (slice) => {
        this.#ran(slice);
        other.ran?.(slice);
      },
      stole: (steal) => {
        this.#stole(steal);
        other.stole?.(steal);
      },
    };
  }

  toChrome(): ChromeTrace {
    return { traceEvents: [...this.#events], otherData: { omitted: this.#omitted } };
  }

  #ran({ fiber, processor, startMs, endMs, ops }: Slice): void {
    const dur = (endMs - startMs) * 1_000;
    const args = { fiber, ops };
    this.#keep({
      name: `fiber ${fiber}`,
      cat: "fiber",
      ph: "X",
      ts: startMs * 1_000,
      dur,
      pid: 1,
      tid: processor,
      args,
    });
  }

  #stole({ fiber, thief, victim, atMs }: Steal): void {
    const args = { fiber, victim };
    this.#keep({ name: "steal", cat: "steal", ph: "i", ts: atMs * 1_000, pid: 1, tid: thief, s: "t", args });
  }

  #keep(event: TraceEvent): void {
    if (this.#events.length < this.#limit) this.#events.push(event);
    else this.#omitted++;
  }
}
