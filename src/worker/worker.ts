/**
 * A worker: keeps a connection to a server, runs what it is assigned, and reports how each attempt ended.
 *
 * What it was given (`#held`) stays with it from the assignment until the server has acknowledged the report, and
 * every heartbeat lists all of that. So a connection that breaks changes nothing but the time at which the server
 * hears of it: attempts go on, and their reports wait in the outbox.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { RecentMap } from "../core/index.ts";
import type { Assignment, Heartbeat, Registration, Report } from "../protocol/index.ts";
import type { Runtime } from "../runtime/index.ts";
import { backOffMs, STEADY_MS } from "./back-off.ts";
import type { Handlers } from "./handler.ts";
import { LogQueue } from "./log-queue.ts";
import { Outbox } from "./outbox.ts";
import { type AttemptHost, keyOf, TaskAttempt } from "./task-attempt.ts";
import {
  type AttemptName,
  type Connection,
  ConnectionRefused,
  type Transport,
  type WorkerHost,
} from "./transport.ts";

export interface WorkerOptions {
  readonly transport: Transport;
  readonly handlers: Handlers;
  readonly registration: Omit<Registration, "protocol" | "session" | "types">;
  /** How long a handler or program may take to end once it was told to; 10 s by default. */
  readonly graceMs?: number;
  /** How long a worker that drains waits for a server that is away, to say how tasks ended; 30 s by default. */
  readonly reportMs?: number;
  /** How much of an attempt's log is sent; 1 MiB by default. */
  readonly logLimitBytes?: number;
  readonly observe?: (event: WorkerEvent) => void;
}

export type WorkerEvent =
  | { readonly type: "connected"; readonly worker: string; readonly again: boolean }
  /** Said once until the next `connected`; the worker keeps trying. */
  | { readonly type: "disconnected"; readonly wasConnected: boolean; readonly reason: string }
  | { readonly type: "started"; readonly assignment: Assignment }
  | { readonly type: "ended"; readonly assignment: Assignment; readonly report: Report; readonly ms: number }
  | { readonly type: "draining"; readonly running: number; readonly returned: number }
  | { readonly type: "warning"; readonly message: string };

/** How many ended attempts are remembered, so that an assignment that comes late and twice does not run again. */
const MAX_REMEMBERED = 10_000;
const DEFAULT_GRACE_MS = 10_000;
const DEFAULT_REPORT_MS = 30_000;

export class Worker {
  readonly #options: WorkerOptions;
  readonly #registration: Registration;
  readonly #attemptHost: AttemptHost;
  readonly #held = new Map<string, TaskAttempt>();
  /** In the order in which they were assigned. */
  readonly #queue = new Set<TaskAttempt>();
  readonly #running = new Set<TaskAttempt>();
  readonly #settled = new RecentMap<string, true>(MAX_REMEMBERED);
  readonly #logs = new LogQueue(() => this.#sendLogs());
  readonly #outbox: Outbox;
  readonly #over = new AbortController();
  readonly #whenOver: Promise<undefined>;
  #connection: Connection | undefined;
  /** What came over a connection that is not in use yet. */
  #early: (() => void)[] = [];
  #failures = 0;
  #connections = 0;
  #saidDisconnected = false;
  #draining = false;
  /** Of attempts that wait for a recharge while it drains, and of reports that nobody takes. */
  readonly #limits = new Map<TaskAttempt | "reports", NodeJS.Timeout>();
  #runtime: Promise<Runtime> | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    const types = Object.keys(options.handlers).sort();
    this.#registration = { ...options.registration, protocol: 1, session: randomUUID(), types };
    this.#attemptHost = {
      graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
      logLimitBytes: options.logLimitBytes ?? 1024 * 1024,
      log: (entry) => this.#logs.add(entry),
      progress: (progress) => this.#connection?.progress(progress),
      beat: () => {
        this.#connection?.beat();
        if (this.#draining) this.#limitExhausted();
      },
      runtime: () => {
        this.#runtime ??= import("../runtime/index.ts").then(({ Runtime }) => Runtime.start());
        return this.#runtime;
      },
      warn: (message) => this.#observe({ type: "warning", message }),
    };
    this.#outbox = new Outbox((key) => this.#settle(key));
    this.#whenOver = new Promise((resolve) => {
      this.#over.signal.addEventListener("abort", () => resolve(undefined));
    });
  }

  /** Until it has drained or was stopped. Throws `ConnectionRefused` when the server will not have it. */
  async run(): Promise<void> {
    try {
      for (;;) {
        const error = await this.#attend();
        if (this.#over.signal.aborted) return;
        if (error instanceof ConnectionRefused) throw error;
        this.#sayDisconnected(error);
        await this.#pause(backOffMs(this.#failures++));
      }
    } finally {
      this.stop();
      this.#logs.stop();
      await (await this.#runtime)?.close();
    }
  }

  /** Take nothing more, finish what runs, and leave. What has not begun goes back to the server. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    // Missing from the next heartbeat, or at the latest when we leave, they are given to others.
    for (const { key } of this.#queue) this.#held.delete(key);
    const returned = this.#queue.size;
    this.#queue.clear();
    this.#observe({ type: "draining", running: this.#running.size, returned });
    this.#connection?.drain();
    this.#limitExhausted();
    this.#leaveWhenDone();
  }

  /** Leave at once. What runs is told to stop, and the server gives it to others. */
  stop(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    for (const limit of this.#limits.values()) clearTimeout(limit);
    for (const attempt of this.#running) attempt.cancel();
  }

  /** Connects, and stays for as long as it lasts. Why it did not last longer. */
  async #attend(): Promise<Error | undefined> {
    let connection: Connection | undefined;
    try {
      connection = await this.#connect();
    } catch (error) {
      return error as Error;
    }
    if (!connection) return undefined;
    const sinceMs = performance.now();
    this.#useConnection(connection);
    const error = await Promise.race([connection.closed, this.#whenOver]);
    this.#sendLogs();
    this.#useConnection(undefined);
    if (this.#over.signal.aborted) await connection.leave();
    if (performance.now() - sinceMs > STEADY_MS) this.#failures = 0;
    return error;
  }

  async #connect(): Promise<Connection | undefined> {
    this.#early = [];
    const connecting = this.#options.transport.connect(this.#registration, this.#host);
    const connection = await Promise.race([connecting, this.#whenOver]);
    if (!connection) {
      connecting.then(
        (late) => late.leave(),
        () => {},
      );
    }
    return connection;
  }

  #useConnection(connection: Connection | undefined): void {
    this.#connection = connection;
    if (connection) {
      this.#observe({ type: "connected", worker: connection.worker, again: this.#connections++ > 0 });
      this.#saidDisconnected = false;
      clearTimeout(this.#limits.get("reports"));
      this.#limits.delete("reports");
      if (this.#draining) connection.drain();
      this.#sendLogs();
    }
    this.#outbox.useConnection(connection);
    if (!connection) this.#leaveWhenDone();
    if (connection) for (const act of this.#early.splice(0)) act();
  }

  #sayDisconnected(error: Error | undefined): void {
    if (this.#saidDisconnected) return;
    this.#saidDisconnected = true;
    const reason = error?.message ?? "the connection ended";
    this.#observe({ type: "disconnected", wasConnected: this.#connections > 0, reason });
  }

  readonly #host: WorkerHost = {
    heartbeat: () => this.#heartbeat(),
    assign: (assignments) => this.#whenInUse(() => this.#assign(assignments)),
    cancel: (attempts) => this.#whenInUse(() => this.#cancel(attempts)),
    recharge: (recharges) => {
      for (const recharge of recharges) this.#held.get(keyOf(recharge))?.recharge(recharge);
    },
    drain: () => this.#whenInUse(() => this.drain()),
  };

  /** Servers may send work in the same breath as their welcome. */
  #whenInUse(act: () => void): void {
    if (this.#connection) act();
    else this.#early.push(act);
  }

  #heartbeat(): Heartbeat {
    return {
      attempts: [...this.#held.values()].map(({ assignment: { task, attempt }, startedAt, exhausted }) => ({
        task,
        attempt,
        started_at: startedAt,
        ...(exhausted && { exhausted }),
      })),
    };
  }

  #assign(assignments: readonly Assignment[]): void {
    for (const assignment of assignments) {
      const attempt = new TaskAttempt(assignment, this.#attemptHost);
      const { key } = attempt;
      if (this.#draining || this.#held.has(key) || this.#settled.has(key)) continue;
      this.#held.set(key, attempt);
      this.#queue.add(attempt);
    }
    this.#startWaiting();
  }

  #cancel(attempts: readonly AttemptName[]): void {
    for (const name of attempts) {
      const attempt = this.#held.get(keyOf(name));
      if (!attempt) continue;
      if (this.#queue.delete(attempt)) this.#report(attempt, attempt.unstarted({ type: "cancelled" }));
      else attempt.cancel();
    }
  }

  #startWaiting(): void {
    for (const attempt of this.#queue) {
      if (this.#running.size >= this.#registration.slots) return;
      this.#queue.delete(attempt);
      this.#run(attempt);
    }
  }

  #run(attempt: TaskAttempt): void {
    const { assignment } = attempt;
    const { handlers, observe } = this.#options;
    const handler = Object.hasOwn(handlers, assignment.task_type)
      ? handlers[assignment.task_type]
      : undefined;
    if (!handler) {
      this.#report(attempt, attempt.unstarted(unknownType(assignment.task_type)));
      return;
    }
    this.#running.add(attempt);
    observe?.({ type: "started", assignment });
    const sinceMs = performance.now();
    attempt.run(handler, (report) => {
      this.#running.delete(attempt);
      // After leaving there is nobody to report to, and what was stopped for that reason was not cancelled.
      if (this.#over.signal.aborted) return;
      // It was given back.
      if (!this.#held.has(attempt.key)) return this.#leaveWhenDone();
      observe?.({ type: "ended", assignment, report, ms: performance.now() - sinceMs });
      this.#report(attempt, report);
      this.#startWaiting();
    });
  }

  #report(attempt: TaskAttempt, report: Report): void {
    // Before the report: the log of a task that has ended should be whole.
    this.#sendLogs();
    this.#outbox.add(attempt.key, report);
  }

  #settle(key: string): void {
    this.#held.delete(key);
    this.#settled.set(key, true);
    this.#leaveWhenDone();
  }

  #leaveWhenDone(): void {
    if (!this.#draining || this.#running.size > 0) return;
    if (this.#outbox.size === 0) this.stop();
    else if (!this.#connection) this.#limit("reports", this.#reportMs, () => this.#leaveUnheard());
  }

  get #reportMs(): number {
    return this.#options.reportMs ?? DEFAULT_REPORT_MS;
  }

  #leaveUnheard(): void {
    if (this.#connection) return;
    const count = this.#outbox.size;
    const message = `the server was away for ${this.#reportMs} ms: it was not told how ${count} of its tasks ended, and will have them run again`;
    this.#observe({ type: "warning", message });
    this.stop();
  }

  /** Nobody may ever recharge what waits for that. Others may run it once it is back in the queue. */
  #limitExhausted(): void {
    for (const attempt of this.#running)
      if (attempt.exhausted) this.#limit(attempt, this.#attemptHost.graceMs, () => this.#giveBack(attempt));
  }

  #giveBack(attempt: TaskAttempt): void {
    if (!attempt.exhausted || !this.#running.has(attempt)) return;
    const { task_type, task } = attempt.assignment;
    const message = `${task_type} ${task} waits for a recharge; it is given back, since this worker drains`;
    this.#observe({ type: "warning", message });
    this.#held.delete(attempt.key);
    attempt.cancel();
    this.#connection?.beat();
  }

  #limit(of: TaskAttempt | "reports", ms: number, onOver: () => void): void {
    if (this.#limits.has(of) || this.#over.signal.aborted) return;
    const limit = setTimeout(() => {
      this.#limits.delete(of);
      onOver();
    }, ms);
    this.#limits.set(of, limit);
  }

  #sendLogs(): void {
    const connection = this.#connection;
    if (connection) for (const batch of this.#logs.take()) connection.log(batch);
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#over.signal }).catch(() => {});
  }

  #observe(event: WorkerEvent): void {
    this.#options.observe?.(event);
  }
}

function unknownType(type: string): { code: string; message: string; retry: boolean } {
  return {
    code: "unknown-type",
    message: `this worker has no handler for ${JSON.stringify(type)}`,
    retry: false,
  };
}
