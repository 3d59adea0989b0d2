import type { EventKind, LedgerEvent } from "../../ledger/index.ts";
import type { State } from "../../scheduler/index.ts";
import type { Chronicle, Entry } from "./chronicle.ts";
import type { Bucket, EntryQuery, EntryView, Moments } from "./questions.ts";

export function momentsOf(chronicle: Chronicle, from: number, to: number, buckets: number): Moments {
  const last = Math.min(to, chronicle.lastSeq);
  const first = Math.max(1, Math.min(from, last));
  const found: Bucket[] = [];
  const share = Math.max(1, (last - first + 1) / buckets);
  for (let seq = first, place = 1; seq <= last; place++) {
    const end = Math.min(last, first - 1 + Math.round(place * share));
    const kinds: Partial<Record<EventKind, number>> = {};
    for (; seq <= end; seq++) {
      const kind = chronicle.kindOf(seq);
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    }
    found.push({ seq: end, now: chronicle.timeOfDayAt(end), kinds });
  }
  return {
    first: { seq: Math.min(1, chronicle.lastSeq), now: chronicle.timeOfDayAt(0) },
    last: { seq: chronicle.lastSeq, now: chronicle.timeOfDayAt(chronicle.lastSeq) },
    buckets: found,
  };
}

export function entriesOf(chronicle: Chronicle, state: State, query: EntryQuery): EntryView[] {
  const found: EntryView[] = [];
  for (const seq of sequencesOf(chronicle, query)) {
    if (found.length === query.limit) break;
    found.push({ ...viewOf(chronicle.entry(seq), state), now: chronicle.timeOfDayAt(seq) });
  }
  return found;
}

function* sequencesOf(chronicle: Chronicle, { after, before, kinds, taskId }: EntryQuery): Generator<number> {
  const wanted = new Set<string>(kinds);
  const isWanted = (seq: number) => wanted.size === 0 || wanted.has(chronicle.kindOf(seq));
  if (taskId !== undefined) {
    const seqs = chronicle.about(taskId).filter((seq) => isWanted(seq));
    if (before === undefined) yield* seqs.filter((seq) => seq > after);
    else yield* seqs.filter((seq) => seq < before && seq > after).reverse();
    return;
  }
  if (before === undefined) {
    for (let seq = after + 1; seq <= chronicle.lastSeq; seq++) if (isWanted(seq)) yield seq;
    return;
  }
  for (let seq = Math.min(before - 1, chronicle.lastSeq); seq > after; seq--) if (isWanted(seq)) yield seq;
}

function viewOf({ seq, event, subject }: Entry, state: State): Omit<EntryView, "now"> {
  const { zone, taskId, runId } = subject;
  const { kind, ...data } = event;
  return {
    seq,
    kind,
    zone: zone ?? ("zone" in event ? event.zone : undefined),
    taskId,
    runId,
    workerId: workerOf(event, state),
    data: event.kind === "RunSubmitted" ? { ...data, graph: { nodes: event.graph.ids.length } } : data,
  };
}

function workerOf(event: LedgerEvent, state: State): string | undefined {
  if (event.kind === "WorkerRegistered") return event.worker.id;
  return "worker" in event ? state.fleet.workers[event.worker ?? -1]?.id : undefined;
}
