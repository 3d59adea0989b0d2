import { invariant, RecentMap } from "../../core/index.ts";
import type { About } from "../../driver/index.ts";
import type { Block, EventKind, LedgerEvent, ReportRefused } from "../../ledger/index.ts";
import { eventsOf } from "../../scheduler/index.ts";

/** A block as far as its events need it. */
export type BlockLine = Pick<Block, "seq" | "count" | "now" | "line">;

/** Whom an event is about, as far as it can be told. */
export interface Subject {
  readonly zone: string | undefined;
  readonly runId: string | undefined;
  readonly taskId: string | undefined;
  /** Where the task is part of a run. */
  readonly node: string | undefined;
  /** Where it is one of several ways to do what another asks for: its tag. */
  readonly alternative: string | undefined;
}

/** An event with its place, and whom it is about. */
export interface Entry {
  readonly seq: number;
  readonly now: number;
  readonly event: LedgerEvent;
  readonly subject: Subject;
}

const NOBODY: Subject = {
  zone: undefined,
  runId: undefined,
  taskId: undefined,
  node: undefined,
  alternative: undefined,
};
/** Blocks whose events are at hand as they were read last. */
const READ_BLOCKS = 64;

/** The ledger as far as it is known, to be looked up by sequence. What a decision needs is in the blocks themselves. */
export class Chronicle {
  readonly #blocks: BlockLine[] = [];
  /** By sequence, from 1 on. */
  readonly #kinds: EventKind[] = [];
  readonly #subjects: Subject[] = [];
  readonly #byTask = new Map<string, { readonly subject: Subject; readonly seqs: number[] }>();
  readonly #byRun = new Map<string, Subject>();
  readonly #read = new RecentMap<number, readonly LedgerEvent[]>(READ_BLOCKS);

  /** The corrections of the clock, in their order: from this event on the time of day was ahead of the ledger's by this much. */
  readonly #offsets: { readonly seq: number; readonly ms: number }[] = [{ seq: 0, ms: 0 }];

  get lastSeq(): number {
    return this.#kinds.length;
  }

  add(block: BlockLine): void {
    invariant(block.seq === this.lastSeq + 1, "blocks come one after the other");
    this.#blocks.push(block);
  }

  /** The next event of the block that was added last. */
  note(event: LedgerEvent, about: About | undefined): void {
    const seq = this.#kinds.push(event.kind);
    if (about) this.#subjects.push(this.#subjectOf(about, seq));
    else this.#subjects.push(event.kind === "ReportRefused" ? this.#refused(event, seq) : NOBODY);
  }

  /** Sequences of the events about a task. */
  about(taskId: string): readonly number[] {
    return this.#byTask.get(taskId)?.seqs ?? [];
  }

  kindOf(seq: number): EventKind {
    return this.#kinds[seq - 1] as EventKind;
  }

  /** The time of day is ahead of the ledger's time by another amount from this event on. */
  correctClock(seq: number, offsetMs: number): void {
    this.#offsets.push({ seq, ms: offsetMs });
  }

  /** The ledger's time at an event; before the first event, the time of the first. */
  timeOf(seq: number): number {
    return seq === 0 ? (this.#blocks[0]?.now ?? 0) : this.blockOf(seq).now;
  }

  /** The time of day at an event. */
  timeOfDayAt(seq: number): number {
    return this.timeOf(seq) + (this.#offsets.findLast((one) => one.seq <= seq)?.ms ?? 0);
  }

  /** The last event at that time of day or before it; 0 if there is none. Of two, where the clock was set back, the later. */
  lastAtTimeOfDay(time: number): number {
    let end = this.lastSeq;
    for (const { seq: from, ms } of this.#offsets.toReversed()) {
      const found = Math.min(end, this.lastAt(time - ms));
      if (found >= from) return found;
      end = from - 1;
    }
    return 0;
  }

  /** The last event of its turn. */
  turnEndOf(seq: number): number {
    if (seq === 0) return 0;
    const block = this.blockOf(seq);
    return block.seq + block.count - 1;
  }

  entry(seq: number): Entry {
    const block = this.blockOf(seq);
    const event = this.#eventsIn(block)[seq - block.seq] as LedgerEvent;
    return { seq, now: block.now, event, subject: this.#subjects[seq - 1] as Subject };
  }

  /** Events after one and up to another, in order. */
  *between(after: number, to: number): Generator<{ readonly event: LedgerEvent; readonly now: number }> {
    for (let at = this.#placeOf(after + 1); at < this.#blocks.length; at++) {
      const block = this.#blocks[at] as BlockLine;
      if (block.seq > to) return;
      for (const [place, event] of this.#eventsIn(block).entries()) {
        const seq = block.seq + place;
        if (seq > after && seq <= to) yield { event, now: block.now };
      }
    }
  }

  /** The last event at that time of the ledger or before it; 0 if there is none. */
  lastAt(time: number): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#blocks[middle] as BlockLine).now <= time) low = middle + 1;
      else high = middle;
    }
    const block = this.#blocks[low - 1];
    return block ? block.seq + block.count - 1 : 0;
  }

  /** Returns the task of a refused report, which the state has forgotten. */
  #refused({ taskId = "" }: ReportRefused, seq: number): Subject {
    const known = this.#byTask.get(taskId);
    known?.seqs.push(seq);
    return known?.subject ?? NOBODY;
  }

  /** One object for all events about the same. */
  #subjectOf({ zone, runId, task }: About, seq: number): Subject {
    if (!task) {
      const known = this.#byRun.get(runId ?? "");
      const subject = known ?? { ...NOBODY, zone, runId };
      this.#byRun.set(runId ?? "", subject);
      return subject;
    }
    const known = this.#byTask.get(task.id);
    if (known) {
      known.seqs.push(seq);
      return known.subject;
    }
    const subject = { zone, runId, taskId: task.id, node: task.node, alternative: task.alternative?.tag };
    this.#byTask.set(task.id, { subject, seqs: [seq] });
    return subject;
  }

  #eventsIn(block: BlockLine): readonly LedgerEvent[] {
    const known = this.#read.get(block.seq);
    if (known) return known;
    const events = eventsOf(block).map(({ event }) => event);
    this.#read.set(block.seq, events);
    return events;
  }

  /** The block that an event is in. */
  blockOf(seq: number): BlockLine {
    const block = this.#blocks[this.#placeOf(seq)];
    invariant(block && seq < block.seq + block.count, `the event ${seq} is in the ledger`);
    return block;
  }

  /** The place of the block that an event is in. */
  #placeOf(seq: number): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#blocks[middle] as BlockLine).seq <= seq) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}
