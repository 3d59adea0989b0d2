/**
 * What happened, told from the events alone: the runs, and every attempt with its beginning and end.
 *
 * No state is rebuilt for it. Decoded events are dropped as soon as they are read; what stays is one small
 * object per attempt.
 */

import type { WireGraph } from "../graph/index.ts";
import type { Report, RunOutcome, TaskAssigned, Transfer } from "../ledger/index.ts";
import { NO_RUN, type Reason, type TaskKey, taskKey } from "../placement/index.ts";
import type { Recorded } from "../scheduler/index.ts";
import type { AttemptOutcome } from "../words/index.ts";

export interface Attempt {
  readonly run: number;
  readonly node: number;
  /** Which of several alternatives of the node it is of; -1: there is only one way. */
  readonly alternative: number;
  readonly attempt: number;
  readonly worker: number;
  readonly seq: number;
  readonly reason: Reason;
  readonly assignedAt: number;
  /** By the worker's word if it is known, else when it was assigned. Never outside of assignment and end. */
  startedAt: number;
  /** The ledger's last time for those that are open. */
  endedAt: number;
  outcome: AttemptOutcome;
  error: { readonly code: string; readonly message: string } | undefined;
  /** What was brought from other workers for it, and how. */
  movedBytes?: number;
  transfers?: readonly TransferStory[];
  resultBytes?: number;
}

/** A result on its way to the worker of the attempt that needs it. */
export interface TransferStory {
  readonly to: Attempt;
  /** Whose result it is. */
  readonly node: number;
  /** The attempt that made it. */
  readonly maker: Attempt | undefined;
  readonly from: number;
  readonly worker: number;
  readonly seq: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface RunStory {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly graph: WireGraph;
  /** The node of this one whose result is that of the node whose attempt submitted it. */
  readonly tail: number | undefined;
  readonly submittedAt: number;
  endedAt: number | undefined;
  outcome: RunOutcome | undefined;
  /** For nodes that were tried in several alternatives, which of them was taken, and when. */
  readonly chosen: Map<number, { readonly alternative: number; readonly at: number }>;
  /** Nodes that ended without completing. */
  readonly fates: Map<number, "failed" | "cancelled" | "skipped">;
}

/** Something worth a mark on a time line. */
export type Mark = { readonly at: number; readonly seq: number } & (
  | { readonly type: "retried"; readonly attempt: Attempt; readonly dueAt: number }
  | { readonly type: "worker-lost" | "worker-joined"; readonly worker: number }
  | {
      readonly type: "reserved";
      readonly run: number;
      readonly node: number;
      readonly worker: number;
      readonly freeAt: number;
    }
);

export class History {
  readonly runs: RunStory[] = [];
  /** Ids by number. */
  readonly workers: string[] = [];
  /** In the order in which they were assigned. */
  readonly attempts: Attempt[] = [];
  readonly marks: Mark[] = [];
  firstAt = -1;
  lastAt = 0;
  /** By the numbers of the tasks of no run. */
  readonly #alternatives = new Map<number, Pick<Attempt, "run" | "node" | "alternative">>();
  readonly #last = new Map<TaskKey, Attempt>();
  /** By node, who made the result that it has. */
  readonly #makers = new Map<TaskKey, Attempt>();
  /** By nodes that stand for others, these. */
  readonly #links = new Map<TaskKey, TaskKey>();
  readonly #workerNumbers = new Map<string, number>();
  readonly #open = new Map<number, Set<Attempt>>();

  /** Workers that were there before what is told of, in the order of their numbers. */
  constructor(workers: readonly string[] = []) {
    for (const id of workers) this.#workerNumbers.set(id, this.workers.push(id) - 1);
  }

  take({ event, seq, now }: Pick<Recorded, "event" | "seq" | "now">): void {
    if (this.firstAt === -1) this.firstAt = now;
    this.lastAt = now;
    switch (event.kind) {
      case "RunSubmitted": {
        const { runId: id, name, graph, parent } = event;
        if (parent) this.#endLast(taskKey(parent.run, parent.node), "finished", now);
        const number = this.runs.length;
        for (const [node, ofRun, ofNode] of parent?.links ?? [])
          this.#links.set(taskKey(number, node), taskKey(ofRun, ofNode));
        const run = { number, id, name, graph, submittedAt: now, endedAt: undefined, outcome: undefined };
        this.runs.push({ ...run, tail: parent?.tail, chosen: new Map(), fates: new Map() });
        break;
      }
      case "WorkerRegistered":
        this.marks.push({ type: "worker-joined", at: now, seq, worker: this.#join(event.worker.id, now) });
        break;
      case "WorkerLost":
        this.#lose(event.worker, now);
        this.marks.push({ type: "worker-lost", at: now, seq, worker: event.worker });
        break;
      case "TaskSpeculated":
        for (let at = 0; at < event.count; at++)
          this.#alternatives.set(event.first + at, { run: event.run, node: event.node, alternative: at });
        break;
      case "VoteTaken":
        if (event.winner >= 0)
          this.runs[event.run]?.chosen.set(event.node, { alternative: event.winner, at: now });
        break;
      case "TaskAssigned":
        this.#assign(event, seq, now);
        break;
      case "AttemptStarted":
        this.#start(this.#last.get(taskKey(event.run, event.node)), event.startedAt, now);
        break;
      case "AttemptFinished":
      case "AttemptFailed":
      case "AttemptTimedOut":
      case "AttemptLost":
      case "AttemptCancelled":
        this.#end(event, now);
        break;
      case "ExpansionEnded": {
        const tail = this.runs[event.child]?.tail;
        const maker = tail === undefined ? undefined : this.#makers.get(taskKey(event.child, tail));
        if (maker) this.#makers.set(taskKey(event.run, event.node), maker);
        break;
      }
      case "TasksWithdrawn":
        for (const node of event.nodes) this.#endLast(taskKey(event.run, node), "cancelled", now);
        break;
      case "TaskRetried": {
        const attempt = this.#last.get(taskKey(event.run, event.node));
        if (attempt) this.marks.push({ type: "retried", at: now, seq, attempt, dueAt: event.dueAt });
        break;
      }
      case "ReservationMade":
        this.marks.push({ ...event, type: "reserved", at: now, seq });
        break;
      case "TaskFailed":
        this.runs[event.run]?.fates.set(event.node, "failed");
        break;
      case "TaskCancelled":
        this.runs[event.run]?.fates.set(event.node, "cancelled");
        break;
      case "TasksSkipped":
        for (const node of event.nodes) this.runs[event.run]?.fates.set(node, "skipped");
        break;
      case "RunEnded": {
        const run = this.runs[event.run];
        if (run) Object.assign(run, { outcome: event.outcome, endedAt: now });
        break;
      }
      default:
        break;
    }
  }

  /** Ends, for the telling, what has not ended. */
  close(): void {
    for (const open of this.#open.values()) for (const attempt of open) attempt.endedAt = this.lastAt;
  }

  #join(id: string, now: number): number {
    const known = this.#workerNumbers.get(id);
    if (known !== undefined) {
      this.#lose(known, now);
      return known;
    }
    const number = this.workers.push(id) - 1;
    this.#workerNumbers.set(id, number);
    return number;
  }

  #lose(worker: number, now: number): void {
    for (const attempt of this.#open.get(worker) ?? []) this.#finish(attempt, "lost", now);
  }

  #assign({ run, node, attempt, worker, reason }: TaskAssigned, seq: number, now: number): void {
    const alternativeOf = run === NO_RUN ? this.#alternatives.get(node) : undefined;
    const one: Attempt = {
      ...(alternativeOf ?? { run, node, alternative: -1 }),
      attempt,
      worker,
      seq,
      reason,
      assignedAt: now,
      startedAt: now,
      endedAt: now,
      outcome: "open",
      error: undefined,
    };
    this.attempts.push(one);
    this.#last.set(taskKey(run, node), one);
    const open = this.#open.get(worker);
    if (open) open.add(one);
    else this.#open.set(worker, new Set([one]));
  }

  #start(attempt: Attempt | undefined, startedAt: number, now: number): void {
    // Workers have clocks of their own: an attempt is not shown before its assignment or beyond its end.
    if (attempt && startedAt >= 0) {
      attempt.startedAt = Math.min(Math.max(startedAt, attempt.assignedAt), now);
    }
  }

  #endLast(key: TaskKey, outcome: AttemptOutcome, now: number): void {
    const attempt = this.#last.get(key);
    if (attempt) this.#finish(attempt, outcome, now);
  }

  #end(report: Report, now: number): void {
    const attempt = this.#last.get(taskKey(report.run, report.node));
    if (!attempt) return;
    this.#start(attempt, report.startedAt, now);
    if (report.kind === "AttemptFailed") attempt.error = { code: report.code, message: report.message };
    this.#finish(attempt, outcomeOf(report), now);
    if (report.kind !== "AttemptFinished") return;
    const key = taskKey(report.run, report.node);
    this.#last.delete(key);
    if (this.runs[report.run]?.graph.inputs === undefined) return;
    this.#makers.set(key, attempt);
    attempt.resultBytes = report.resultBytes;
    if (report.movedBytes) attempt.movedBytes = report.movedBytes;
    if (report.transfers) attempt.transfers = report.transfers.map((one) => this.#transfer(attempt, one));
  }

  /** Not shown before the attempt was assigned, nor after it ended. */
  #transfer(to: Attempt, [node, from, beganMs, tookMicros]: Transfer): TransferStory {
    const within = (at: number) => Math.min(Math.max(at, to.assignedAt), to.endedAt);
    const startedAt = within(to.startedAt + beganMs);
    const endedAt = within(startedAt + tookMicros / 1000);
    const { worker, seq } = to;
    const key = taskKey(to.run, node);
    const maker = this.#makers.get(this.#links.get(key) ?? key);
    return { to, node, maker, from, worker, seq, startedAt, endedAt };
  }

  #finish(attempt: Attempt, outcome: AttemptOutcome, now: number): void {
    attempt.outcome = outcome;
    attempt.endedAt = now;
    this.#open.get(attempt.worker)?.delete(attempt);
  }
}

export function outcomeOf({ kind, startedAt }: Pick<Report, "kind" | "startedAt">): AttemptOutcome {
  switch (kind) {
    case "AttemptStarted":
      return "open";
    case "AttemptFinished":
      return "finished";
    case "AttemptFailed":
      return "failed";
    case "AttemptTimedOut":
      return "timed-out";
    case "AttemptLost":
      return startedAt === -1 ? "returned" : "lost";
    case "AttemptCancelled":
      return "cancelled";
  }
}

/** When each node of a run completed: with an attempt, or with the vote on its alternatives. */
export function completions(run: RunStory, attempts: readonly Attempt[]): Map<number, number> {
  const ends = new Map<number, number>();
  for (const { node, alternative, outcome, endedAt } of attempts)
    if (alternative === -1 && outcome === "finished") ends.set(node, endedAt);
  for (const [node, { at }] of run.chosen) ends.set(node, at);
  return ends;
}

/** Gives what overlaps on a worker different lanes, as few as there can be. */
export function packLanes<One extends Pick<Attempt, "worker" | "seq" | "startedAt" | "endedAt">>(
  all: readonly One[],
): Map<One, number> {
  const lanes = new Map<One, number>();
  const freeAt = new Map<number, number[]>();
  for (const one of all.toSorted((a, b) => a.startedAt - b.startedAt || a.seq - b.seq)) {
    const of = freeAt.get(one.worker) ?? [];
    freeAt.set(one.worker, of);
    const free = of.findIndex((at) => at <= one.startedAt);
    const lane = free === -1 ? of.length : free;
    of[lane] = one.endedAt;
    lanes.set(one, lane);
  }
  return lanes;
}
