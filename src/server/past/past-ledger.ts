import type { TaskAssigned } from "../../ledger/index.ts";
import type { CandidateRow } from "../../placement/index.ts";
import { apply, eventsOf, isServing, stateHash, whyHere } from "../../scheduler/index.ts";
import { type TaskRow, VersionedRows } from "../../store/index.ts";
import { decide, decideFor, describeDecider } from "../../words/index.ts";
import type { Caller, StreamEvent } from "../api.ts";
import { LastAssignments } from "../explanation.ts";
import { isVisible } from "../live-task.ts";
import { MeteredProjection } from "../meter.ts";
import { Reader } from "../reader.ts";
import { streamEvent } from "../stream-event.ts";
import { StreamIds } from "../stream-ids.ts";
import { ActivityLog } from "./activity-log.ts";
import { AttemptTrail } from "./attempt-trail.ts";
import { Checkpoints } from "./checkpoints.ts";
import { type BlockLine, Chronicle } from "./chronicle.ts";
import { entriesOf, momentsOf } from "./entries.ts";
import type { EntryQuery, EntryView, Moments, PlacementView, Questions, Read } from "./questions.ts";
import { States } from "./states.ts";
import { type WhatIfQuery, type WhatIfView, whatIf } from "./what-if.ts";

interface PastLedgerOptions {
  readonly backend: string;
  /** By which the ids of the event stream are made. */
  readonly streamKey: Uint8Array;
}

/** The ledger replayed so that everything can be told as it was after any of its events. */
export class PastLedger implements Questions {
  readonly #backend: string;
  readonly #ids: StreamIds;
  readonly #chronicle = new Chronicle();
  readonly #states: States;
  readonly #trail: AttemptTrail;
  readonly #rows = new VersionedRows();
  readonly #activity = new ActivityLog();
  readonly #projection = new MeteredProjection(NO_STORE, nothing, nothing, undefined, this.#activity);
  #latest: { readonly seq: number; readonly reader: Reader } | undefined;

  constructor({ backend, streamKey }: PastLedgerOptions, checkpoints: Checkpoints = new Checkpoints()) {
    this.#backend = backend;
    this.#ids = new StreamIds(streamKey);
    this.#states = new States(this.#chronicle, checkpoints);
    this.#trail = new AttemptTrail(this.#chronicle, checkpoints);
  }

  get lastSeq(): number {
    return this.#chronicle.lastSeq;
  }

  add(block: BlockLine): void {
    const { tip } = this.#states;
    this.#chronicle.add(block);
    for (const { seq, now, event } of eventsOf(block)) {
      this.#activity.stand(seq, now);
      this.#projection.note(tip, event, now, undefined);
      this.#rows.change(seq, this.#projection.takeSoFar());
      apply(tip, event, now);
      if (event.kind === "ClockCorrected") this.#chronicle.correctClock(seq, event.offsetMs);
    }
    this.#projection.take();
    for (const { event, about } of this.#projection.takeFacts()) this.#chronicle.note(event, about);
    this.#states.grew();
  }

  async read({ at, method, args, brought }: Read): Promise<unknown> {
    const reader = brought ? this.#makeReader(at, brought) : this.#readerAt(at);
    return await (reader[method] as (...given: unknown[]) => unknown).apply(reader, [...args]);
  }

  time(at: number): number {
    return this.#chronicle.timeOfDayAt(at);
  }

  lastAt(time: number): number {
    return this.#chronicle.lastAtTimeOfDay(time);
  }

  moments(from: number, to: number, buckets: number): Moments {
    return momentsOf(this.#chronicle, from, to, buckets);
  }

  entries(query: EntryQuery): EntryView[] {
    return entriesOf(this.#chronicle, this.#states.tip, query);
  }

  hash(at: number): string {
    return stateHash(this.#states.at(at));
  }

  /** Every worker that could have been chosen, in the state that the choice was made in. */
  placement(at: number, caller: Caller, id: string, attempt: number | undefined): PlacementView | undefined {
    const task = this.#rows.task(at, id);
    if (!task || !isVisible(caller, task)) return undefined;
    const seq = this.#chronicle.about(id).findLast((one) => {
      if (one > at || this.#chronicle.kindOf(one) !== "TaskAssigned") return false;
      return attempt === undefined || this.#assigned(one).attempt === attempt;
    });
    if (seq === undefined) return undefined;
    const assigned = this.#assigned(seq);
    const now = this.#chronicle.timeOf(seq);
    const state = this.#states.at(seq - 1);
    const rows = whyHere(state, state.tasks(assigned.run), assigned.node, now);
    const worker = state.worker(assigned.worker).id;
    return {
      seq,
      now: state.timeOfDay(now),
      attempt: assigned.attempt,
      worker,
      decidedBy: describeDecider(decideFor(assigned, rows) ?? decide(state.config, rows)),
      candidates: rows
        .filter((row) => isServing(state, row.number, task.zone))
        .sort((a, b) => placeOf(a, worker) - placeOf(b, worker)),
    };
  }

  /** No turn can begin in the middle of another: it is from the end of the one that the event is in. */
  whatIf(query: WhatIfQuery): WhatIfView {
    const at = this.#chronicle.turnEndOf(query.at);
    return whatIf(this.#chronicle, this.#states.at(at), { ...query, at });
  }

  #assigned(seq: number): TaskAssigned {
    return this.#chronicle.entry(seq).event as TaskAssigned;
  }

  #readerAt(seq: number): Reader {
    if (this.#latest?.seq !== seq) this.#latest = { seq, reader: this.#makeReader(seq) };
    return this.#latest.reader;
  }

  #makeReader(seq: number, brought?: Read["brought"]): Reader {
    const now = this.#chronicle.timeOf(seq);
    const rows = this.#rows;
    const trail = this.#trail;
    return new Reader({
      driver: {
        read: async (look) => look(this.#states.at(seq)),
        now: () => now,
        timeOfDay: () => this.#chronicle.timeOfDayAt(seq),
      },
      store: {
        backend: this.#backend,
        task: async (id) => withSettings(rows.task(seq, id), brought),
        tasks: async (filter, after, limit) => rows.tasks(seq, filter, after, limit),
        findTasks: async (search, after, limit, look) => rows.findTasks(seq, search, after, limit, look),
        run: async (id) => rows.run(seq, id),
        runs: async (filter, after, limit) => rows.runs(seq, filter, after, limit),
        logs: async () => [],
        blockAt: async (one) => this.#chronicle.blockOf(one),
      },
      workers: { progressOf: () => undefined, isAway: () => false, chunksOf: () => undefined },
      stream: { historyOf: (id) => this.#historyOf(id, seq) },
      assignments: { of: (id) => this.#assignmentsOf(id, seq).of(id) },
      recent: { of: (zone) => this.#activity.activity(zone, seq, now), commitMs: () => undefined },
      attempts: {
        latest: () => trail.at(seq).latest(),
        get wholeFrom() {
          return trail.at(seq).wholeFrom;
        },
      },
    });
  }

  #historyOf(id: string, at: number): StreamEvent[] {
    return this.#chronicle
      .about(id)
      .filter((seq) => seq <= at)
      .map((one) => {
        const { seq, event, subject } = this.#chronicle.entry(one);
        const { runId, node, alternative: tag } = subject;
        const alternative = tag === undefined ? undefined : { tag };
        const about = { runId, task: { id, node, alternative } };
        return streamEvent(this.#ids, this.#states.at(at), {
          seq,
          now: this.#chronicle.timeOfDayAt(seq),
          event,
          about,
        });
      });
  }

  #assignmentsOf(id: string, at: number): LastAssignments {
    const assignments = new LastAssignments(1);
    for (const seq of this.#chronicle.about(id)) {
      const kind = this.#chronicle.kindOf(seq);
      if (seq > at || (kind !== "TaskAssigned" && kind !== "TaskRecalled")) continue;
      assignments.follow([{ event: this.#chronicle.entry(seq).event, about: { task: { id } } }]);
    }
    return assignments;
  }
}

/** Data may have decided for one that is not the first. */
function placeOf({ rank = Number.MAX_SAFE_INTEGER, worker }: CandidateRow, chosen: string): number {
  return worker === chosen ? 0 : rank;
}

function withSettings(row: TaskRow | undefined, brought: Read["brought"]): TaskRow | undefined {
  return row && brought?.id === row.id ? { ...row, settings: brought.settings } : row;
}

/** A ledger brings nothing that could be a repeat. */
const NO_STORE = { keyed: async () => [], task: async () => undefined };

function nothing(): void {}
