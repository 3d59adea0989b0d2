import type { Observer, Slice, Steal } from "./observer.ts";

/** An event of the format that chrome://tracing and Perfetto open. Times are in microseconds. */
export interface TraceEvent {
  readonly name: string;
  readonly cat: "fiber" | "steal" | "__metadata";
  /** A slice, a steal, or the name of a processor. */
  readonly ph: "X" | "i" | "M";
  readonly ts: number;
  readonly dur?: number;
  readonly pid: 1;
  readonly tid: number;
  readonly s?: "t";
  readonly args: Readonly<Record<string, number | string>>;
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
    const processors = [...new Set(this.#events.map(({ tid }) => tid))].toSorted((a, b) => a - b);
    return {
      traceEvents: [...processors.map(nameOf), ...this.#events],
      otherData: { omitted: this.#omitted },
    };
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

function nameOf(tid: number): TraceEvent {
  const args = { name: `processor ${tid}` };
  return { name: "thread_name", cat: "__metadata", ph: "M", ts: 0, pid: 1, tid, args };
}
