import type { EventKind } from "../../ledger/index.ts";
import type { CandidateRow } from "../../placement/index.ts";
import type { Caller, Reading } from "../api.ts";
import type { WhatIfQuery, WhatIfView } from "./what-if.ts";

/** What can be asked of a ledger that was replayed; wherever that is, questions and answers are plain data. */
export interface Questions {
  /** What a reader answers, as of an event. */
  read(read: Read): Promise<unknown>;
  /** When an event was. */
  time(at: number): number;
  /** The last event at a time or before it; 0: there is none. */
  lastAt(time: number): number;
  /** How much happened, in so many parts of what lies between two events. */
  moments(from: number, to: number, buckets: number): Moments;
  entries(query: EntryQuery): EntryView[];
  /** Of the state after an event. */
  hash(at: number): string;
  /** How a task came to its worker, in its last attempt or the one that is asked for. */
  placement(at: number, caller: Caller, id: string, attempt: number | undefined): PlacementView | undefined;
  /** What would have come after an event. */
  whatIf(query: WhatIfQuery): WhatIfView;
}

export interface Read {
  readonly at: number;
  readonly method: keyof Reading;
  readonly args: readonly unknown[];
  /** What the ledger does not say of the task that is asked about. */
  readonly brought: { readonly id: string; readonly settings: string } | undefined;
}

export interface Moments {
  readonly first: Instant;
  readonly last: Instant;
  /** In order, without gaps. */
  readonly buckets: readonly Bucket[];
}

export interface Instant {
  readonly seq: number;
  readonly now: number;
}

/** Events up to one, from the bucket before. */
export interface Bucket extends Instant {
  readonly kinds: Readonly<Partial<Record<EventKind, number>>>;
}

export interface EntryQuery {
  /** Later than this one, oldest first; or with `before` earlier ones, newest first. */
  readonly after: number;
  readonly before: number | undefined;
  readonly limit: number;
  /** Empty: all. */
  readonly kinds: readonly string[];
  readonly taskId: string | undefined;
}

/** An event of the ledger in the words of its readers. */
export interface EntryView extends Instant {
  readonly kind: EventKind;
  readonly zone: string | undefined;
  readonly taskId: string | undefined;
  readonly runId: string | undefined;
  readonly workerId: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface PlacementView extends Instant {
  readonly attempt: number;
  readonly worker: string;
  /** What set it apart from the next, in words. */
  readonly decidedBy: string;
  /** Those that serve the zone: the chosen one first, those that were rejected last. */
  readonly candidates: readonly CandidateRow[];
}
