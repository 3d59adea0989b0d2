import {
  type Ack,
  assignmentOf,
  type GivenAssignment,
  type Heartbeat,
  type LogEntry,
  type PollAnswer,
  type Progress,
  type Recharge,
  type Report,
} from "../protocol/index.ts";
import type { WorkerSession, WorkerSink } from "./api.ts";

/** What a session asks of the gateway that made it. */
export interface SessionHost {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  report(session: Session, reports: readonly Report[]): Promise<readonly Ack[]>;
  heartbeat(session: Session, heartbeat: Heartbeat): void;
  log(session: Session, entries: readonly LogEntry[]): void;
  progress(session: Session, progress: Progress): void;
  chunks(session: Session, ids: readonly string[]): void;
  drain(session: Session): Promise<void>;
  leave(session: Session): Promise<void>;
  disconnected(session: Session): void;
  /** Whether the worker still has the attempt. */
  isHeld(session: Session, attempt: AttemptName): boolean;
  /** Whether it was asked to give it back, and has not answered. */
  isRecalled(session: Session, attempt: AttemptName): boolean;
}

export interface AttemptName {
  readonly task: string;
  readonly attempt: number;
}

export function attemptKey({ task, attempt }: AttemptName): string {
  return `${task}#${attempt}`;
}

/** Ids in one message. */
const MAX_FREED = 1000;

/** A worker that still lists what it was told to stop may not have heard it. */
const CANCEL_AGAIN_MS = 2000;

/**
 * A worker process, as long as it lives and however often it connects. Over a socket messages go out at once;
 * otherwise they wait for the next poll. An answer to a poll can be lost on its way: what it brought and the next
 * poll does not list is brought again.
 */
export class Session implements WorkerSession {
  readonly workerId: string;
  readonly token: string;
  /** The key that it came with: nobody else speaks for it. */
  readonly keyId: string;
  /** The worker's number in the ledger. */
  readonly number: number;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** Attempts that the last heartbeat listed, and when they began; -1: they had not. */
  listed: ReadonlyMap<string, number> = new Map();
  /** What the last heartbeat said of its chunks. */
  memory: Heartbeat["memory"];
  /** Those of which it is recorded that they have started. */
  readonly started: Set<string> = new Set();
  readonly #host: SessionHost;
  #sink: WorkerSink | undefined;
  #waiting = new Map<string, GivenAssignment>();
  #brought = new Map<string, GivenAssignment>();
  #cancels = new Map<string, AttemptName>();
  /** Cancels that an answer brought, and when. */
  #broughtCancels = new Map<string, { readonly attempt: AttemptName; readonly atMs: number }>();
  #recalls = new Map<string, AttemptName>();
  #hasNewRecall = false;
  #recharges = new Map<string, Recharge>();
  #hasNewRecharge = false;
  #freed: string[] = [];
  #polls = 0;
  #drain = false;
  #saidDrain = false;
  #wake: () => void = () => {};

  constructor(
    host: SessionHost,
    { workerId, token, keyId }: { workerId: string; token: string; keyId: string },
    number: number,
    sink: WorkerSink | undefined,
  ) {
    this.#host = host;
    this.workerId = workerId;
    this.token = token;
    this.keyId = keyId;
    this.number = number;
    this.leaseMs = host.leaseMs;
    this.heartbeatMs = host.heartbeatMs;
    this.#sink = sink;
  }

  /** Over a socket, or in a poll that waits. */
  get isConnected(): boolean {
    return this.#sink !== undefined || this.#polls > 0;
  }

  assign(given: readonly GivenAssignment[]): void {
    if (this.#sink) {
      this.#sink.assign(given);
      return;
    }
    for (const assignment of given) this.#waiting.set(attemptKey(assignment), assignment);
    this.#wake();
  }

  cancel(attempt: AttemptName): void {
    const { task, attempt: n } = attempt;
    if (this.#send({ type: "cancel", attempts: [{ task, attempt: n }] })) return;
    this.#cancels.set(attemptKey(attempt), { task, attempt: n });
    this.#wake();
  }

  /** Asks for what it has not begun. */
  recall(attempts: readonly AttemptName[]): void {
    if (attempts.length === 0) return;
    const names = attempts.map(({ task, attempt }) => ({ task, attempt }));
    if (this.#send({ type: "recall", attempts: names })) return;
    for (const name of names) this.#recalls.set(attemptKey(name), name);
    this.#hasNewRecall = true;
    this.#wake();
  }

  /** Until the attempt ends: a worker applies each once, whichever way it hears of it. */
  recharge(recharge: Recharge): void {
    if (this.#send({ type: "recharge", recharges: [recharge] })) return;
    this.#recharges.set(attemptKey(recharge), recharge);
    this.#hasNewRecharge = true;
    this.#wake();
  }

  /** An answer to a poll that is lost leaves them there until the worker comes anew. */
  free(ids: readonly string[]): void {
    for (let from = 0; from < ids.length; from += MAX_FREED) {
      const chunks = ids.slice(from, from + MAX_FREED);
      if (!this.#send({ type: "free", chunks })) this.#freed.push(...chunks);
    }
    if (this.#freed.length > 0) this.#wake();
  }

  askToDrain(): void {
    if (this.#send({ type: "drain" })) return;
    this.#drain = true;
    this.#wake();
  }

  /** Another process, or another connection of the same one, has taken its place. */
  close(): void {
    this.#sink?.close();
    this.#sink = undefined;
    this.#wake();
  }

  report(reports: readonly Report[]): Promise<readonly Ack[]> {
    return this.#host.report(this, reports);
  }

  heartbeat(heartbeat: Heartbeat): void {
    this.#host.heartbeat(this, heartbeat);
  }

  log(entries: readonly LogEntry[]): void {
    this.#host.log(this, entries);
  }

  progress(progress: Progress): void {
    this.#host.progress(this, progress);
  }

  chunks(ids: readonly string[]): void {
    this.#host.chunks(this, ids);
  }

  drain(): Promise<void> {
    return this.#host.drain(this);
  }

  leave(): Promise<void> {
    return this.#host.leave(this);
  }

  async poll(heartbeat: Heartbeat, waitMs: number, signal: AbortSignal): Promise<PollAnswer> {
    this.#bringAgain(heartbeat);
    this.#host.heartbeat(this, heartbeat);
    this.#polls++;
    try {
      if (!this.#hasNews) await this.#news(waitMs, signal);
    } finally {
      this.#polls--;
    }
    const assignments = [...this.#waiting.values()].map(assignmentOf);
    const recharge = this.#openRecharges();
    const recall = this.#openRecalls();
    this.#hasNewRecall = false;
    this.#hasNewRecharge = false;
    const answer = {
      assignments,
      cancel: [...this.#cancels.values()],
      ...(recharge.length > 0 && { recharge }),
      ...(recall.length > 0 && { recall }),
      ...(this.#freed.length > 0 && { free: this.#freed.splice(0, MAX_FREED) }),
      drain: this.#drain,
    };
    // It is in every answer from now on, in case one is lost; but it is news only once.
    this.#saidDrain = this.#drain;
    for (const [key, assignment] of this.#waiting) this.#brought.set(key, assignment);
    for (const [key, attempt] of this.#cancels) {
      this.#broughtCancels.set(key, { attempt, atMs: performance.now() });
    }
    this.#waiting = new Map();
    this.#cancels = new Map();
    return answer;
  }

  disconnected(): void {
    this.#sink = undefined;
    this.#host.disconnected(this);
  }

  get #hasNews(): boolean {
    const isAsked =
      this.#hasNewRecall ||
      this.#hasNewRecharge ||
      this.#freed.length > 0 ||
      (this.#drain && !this.#saidDrain);
    return this.#waiting.size > 0 || this.#cancels.size > 0 || isAsked;
  }

  /** In every answer, in case one is lost. */
  #openRecalls(): AttemptName[] {
    for (const [key, name] of this.#recalls)
      if (!this.#host.isRecalled(this, name)) this.#recalls.delete(key);
    return [...this.#recalls.values()];
  }

  /** In every answer, in case one is lost. */
  #openRecharges(): Recharge[] {
    for (const [key, recharge] of this.#recharges)
      if (!this.#host.isHeld(this, recharge)) this.#recharges.delete(key);
    return [...this.#recharges.values()];
  }

  #bringAgain({ attempts }: Heartbeat): void {
    const listed = new Set(attempts.map(attemptKey));
    for (const [key, assignment] of this.#brought) {
      this.#brought.delete(key);
      if (!listed.has(key) && this.#host.isHeld(this, assignment)) this.#waiting.set(key, assignment);
    }
    for (const [key, { attempt, atMs }] of this.#broughtCancels) {
      if (!listed.has(key) || !this.#host.isHeld(this, attempt)) this.#broughtCancels.delete(key);
      else if (performance.now() - atMs >= CANCEL_AGAIN_MS) this.#cancels.set(key, attempt);
    }
  }

  #send(message: Parameters<WorkerSink["send"]>[0]): boolean {
    this.#sink?.send(message);
    return this.#sink !== undefined;
  }

  #news(waitMs: number, signal: AbortSignal): Promise<void> {
    // A second poll takes the place of the first, whose reader may be gone.
    this.#wake();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#wake = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }
}
