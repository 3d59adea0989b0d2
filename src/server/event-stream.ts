import { setImmediate } from "node:timers/promises";
import type { Fact } from "../driver/index.ts";
import type { LedgerEvent, RunSubmitted } from "../ledger/index.ts";
import type { State } from "../scheduler/index.ts";
import type { Caller, EventsFrom, StreamEvent } from "./api.ts";
import { type Names, streamEvent, type Told } from "./stream-event.ts";
import type { StreamIds } from "./stream-ids.ts";

/** What is kept of messages and lists of nodes at most, in characters. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024;
/** How many events a reader looks at before it lets others have their turn. */
const TURN = 100;

/** An event, and what its readers are told of it: made when the first one sees it, and the same for all. */
interface Seen extends Fact {
  told?: StreamEvent;
}

/**
 * The committed events as they happen, for those who may see them. The latest can be resumed from; who was away for longer
 * is told that some are missing.
 */
export class EventStream {
  readonly #ids: StreamIds;
  readonly #live: { readonly state: State };
  readonly #remembered: number;
  readonly #kept: Seen[] = [];
  readonly #readers = new Set<() => void>();
  #keptChars = 0;
  /** The sequence of the last committed event. */
  #lastSeq: number;
  /** Of the last one that is no longer kept. */
  #droppedSeq: number;

  /** Twice as many as are remembered are kept at most. */
  constructor(ids: StreamIds, lastSeq: number, live: { readonly state: State }, remembered: number) {
    this.#ids = ids;
    this.#live = live;
    this.#remembered = remembered;
    this.#lastSeq = lastSeq;
    this.#droppedSeq = lastSeq;
  }

  publish(facts: readonly Fact[]): void {
    for (const fact of facts) {
      this.#lastSeq = fact.seq;
      if (fact.about) this.#keep(fact);
    }
    const { length } = this.#kept;
    if (length > 2 * this.#remembered) this.#drop(length - this.#remembered);
    while (this.#keptChars > MAX_KEPT_CHARS) this.#drop(Math.ceil(this.#kept.length / 2));
    for (const wake of this.#readers) wake();
  }

  async *read(caller: Caller, from: EventsFrom, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    let after = this.#startOf(from);
    let looked = 0;
    while (!signal.aborted) {
      if (after < this.#droppedSeq) {
        after = this.#droppedSeq;
        yield this.#missed(after);
      }
      // Looked for each time: a reader may be slow, and what it comes back to be gone.
      const seen = this.#kept[this.#indexAfter(after)];
      if (!seen) {
        await this.#news(signal);
        continue;
      }
      after = seen.seq;
      if (isVisible(caller, seen)) {
        seen.told ??= streamEvent(this.#ids, this.#live.state, seen);
        yield seen.told;
      }
      looked += 1;
      if (looked % TURN === 0) await setImmediate();
    }
  }

  /** An event that is no longer kept, as it was told. */
  tell(told: Told, names: Names): StreamEvent {
    return streamEvent(this.#ids, names, told);
  }

  /** What happened to a task, oldest first, among what is kept. */
  historyOf(taskId: string): StreamEvent[] {
    return this.#kept
      .filter(({ about }) => about?.task?.id === taskId)
      .map((seen) => {
        seen.told ??= streamEvent(this.#ids, this.#live.state, seen);
        return seen.told;
      });
  }

  #keep(fact: Fact): void {
    this.#keptChars += charsIn(fact.event);
    this.#kept.push(fact.event.kind === "RunSubmitted" ? this.#withoutGraph(fact, fact.event) : fact);
  }

  /** A graph may be larger than everything else that is kept, and nobody is told more of it than its size. */
  #withoutGraph(fact: Fact, event: RunSubmitted): Seen {
    return {
      ...fact,
      event: { ...event, graph: NO_GRAPH },
      told: streamEvent(this.#ids, this.#live.state, fact),
    };
  }

  /** The oldest ones. */
  #drop(count: number): void {
    const dropped = this.#kept.splice(0, count);
    for (const { event } of dropped) this.#keptChars -= charsIn(event);
    this.#droppedSeq = dropped.at(-1)?.seq ?? this.#droppedSeq;
  }

  #startOf(from: EventsFrom): number {
    if (from.at === "now") return this.#lastSeq;
    if (from.at === "start") return this.#droppedSeq;
    // An id that is not ours, or of another service: as if everything in between was missed.
    return Math.min(this.#ids.seqOf(from.id) ?? -1, this.#lastSeq);
  }

  #indexAfter(seq: number): number {
    let low = 0;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#kept[middle] as Seen).seq > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#readers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#readers.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  #missed(seq: number): StreamEvent {
    const data = { message: "events between the last one that you saw and the next one are no longer kept" };
    return {
      id: this.#ids.idOf(Math.max(0, seq)),
      kind: "EventsMissed",
      at: 0,
      taskId: undefined,
      runId: undefined,
      data,
    };
  }
}

const NO_GRAPH = { specs: [], ids: [], spec: [], needs: [], requests: [], done: [] };
const NODE_CHARS = 8;

/** What makes some events larger than others. */
function charsIn(event: LedgerEvent): number {
  if (event.kind === "AttemptFailed") return event.message.length;
  return event.kind === "TasksSkipped" ? NODE_CHARS * event.nodes.length : 0;
}

function isVisible({ zone, agent, isZoneAdmin }: Caller, { about }: Seen): boolean {
  return about !== undefined && about.zone === zone && (isZoneAdmin || about.agent === agent);
}
