import type { LedgerEvent } from "../ledger/index.ts";
import type { State } from "../scheduler/index.ts";
import type { Caller, EventsFrom, StreamEvent } from "./api.ts";
import type { Fact } from "./attachment.ts";
import type { StreamIds } from "./stream-ids.ts";

/** Events that can be resumed from; who was away for longer is told that some are missing. */
const KEPT = 50_000;
/** A reader that is further behind than this is let go: it resumes, or learns what it missed. */
const MAX_BEHIND = 20_000;

/** What a reader of the stream is told of an event. */
type Seen = Pick<Fact, "seq" | "now" | "event" | "about"> & {
  readonly data: Readonly<Record<string, unknown>>;
};

/** The committed events as they happen, for those who may see them. */
export class EventStream {
  readonly #ids: StreamIds;
  readonly #kept: Seen[] = [];
  readonly #readers = new Set<() => void>();
  /** The sequence of the last committed event. */
  #lastSeq: number;

  constructor(ids: StreamIds, lastSeq: number) {
    this.#ids = ids;
    this.#lastSeq = lastSeq;
  }

  publish(facts: readonly Fact[], state: State): void {
    for (const fact of facts) {
      this.#lastSeq = fact.seq;
      if (fact.about) this.#kept.push({ ...fact, data: dataOf(state, fact.event) });
    }
    if (this.#kept.length > 2 * KEPT) this.#kept.splice(0, this.#kept.length - KEPT);
    for (const wake of this.#readers) wake();
  }

  async *read(caller: Caller, from: EventsFrom, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    let after = this.#startOf(from);
    const oldest = this.#kept[0]?.seq ?? this.#lastSeq + 1;
    if (from.at === "after" && after + 1 < oldest && after < this.#lastSeq) {
      yield this.#truncated(oldest - 1);
      after = oldest - 1;
    }
    while (!signal.aborted) {
      const next = this.#indexAfter(after);
      if (this.#kept.length - next > MAX_BEHIND) return;
      for (const seen of this.#kept.slice(next)) {
        after = seen.seq;
        if (isVisible(caller, seen)) yield this.#eventOf(seen);
        if (signal.aborted) return;
      }
      after = Math.max(after, this.#kept.at(-1)?.seq ?? after);
      if (this.#indexAfter(after) >= this.#kept.length) await this.#news(signal);
    }
  }

  #startOf(from: EventsFrom): number {
    if (from.at === "now") return this.#lastSeq;
    if (from.at === "start") return (this.#kept[0]?.seq ?? this.#lastSeq + 1) - 1;
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

  #eventOf({ seq, now, event, about, data }: Seen): StreamEvent {
    return {
      id: this.#ids.idOf(seq),
      kind: event.kind,
      at: now,
      taskId: about?.task?.id,
      runId: about?.runId,
      data,
    };
  }

  #truncated(seq: number): StreamEvent {
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

function isVisible({ zone, agent, isZoneAdmin }: Caller, { about }: Seen): boolean {
  return about !== undefined && about.zone === zone && (isZoneAdmin || about.agent === agent);
}

/** What of an event is for its task's owner: names in place of numbers, and nothing about other zones. */
function dataOf(state: State, event: LedgerEvent): Readonly<Record<string, unknown>> {
  switch (event.kind) {
    case "TaskAssigned":
      return { attempt: event.attempt, worker: state.worker(event.worker).id, reason: event.reason };
    case "AttemptStarted":
      return { attempt: event.attempt, started_at: event.startedAt };
    case "AttemptFinished":
      return { attempt: event.attempt, result_bytes: event.resultBytes };
    case "AttemptFailed":
      return { attempt: event.attempt, code: event.code, message: event.message };
    case "AttemptTimedOut":
    case "AttemptLost":
    case "AttemptCancelled":
    case "CancelSignalled":
      return { attempt: event.attempt };
    case "ReportRefused":
      return { attempt: event.attempt, report: event.report, code: event.code };
    case "TaskRetried":
      return { due_at: event.dueAt };
    case "TaskFailed":
      return { code: event.code };
    case "RunSubmitted":
      return { name: event.name, nodes: event.graph.ids.length };
    case "RunEnded":
      return { outcome: event.outcome };
    default:
      return {};
  }
}
