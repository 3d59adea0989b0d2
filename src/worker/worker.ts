/**
 * A worker: keeps a connection to a server, runs what it is assigned, and reports how each attempt ended.
 *
 * What it was given (`#held`) stays with it from the assignment until the server has acknowledged the report, and
 * every heartbeat lists all of that. So a connection that breaks changes nothing but the time at which the server
 * hears of it: attempts go on, and their reports wait in the outbox.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PassingMap, RecentMap, type Specimens } from "../core/index.ts";
import {
  type Ack,
  type Assignment,
  type Environment,
  type Heartbeat,
  listedEnvironment,
  type Registration,
  type Report,
} from "../protocol/index.ts";
import type { Runtime } from "../runtime/index.ts";
import type { ServerTls } from "../tls/index.ts";
import { Dropped } from "./attempt-data.ts";
import { backOffMs, STEADY_MS } from "./back-off.ts";
import { ChunkRoom, type DataOptions } from "./chunk-room.ts";
import { failureOf } from "./failure.ts";
import { Followers } from "./followers.ts";
import type { Handlers } from "./handler.ts";
import { LogQueue } from "./log-queue.ts";
import { Outbox } from "./outbox.ts";
import { Processors } from "./processors/processors.ts";
import { type AttemptHost, keyOf, TaskAttempt } from "./task-attempt.ts";
import {
  type AttemptName,
  type Connection,
  ConnectionRefused,
  type Transport,
  type WorkerHost,
} from "./transport.ts";
import { Waiting } from "./waiting.ts";
import { workOf } from "./work.ts";

export interface WorkerOptions {
  readonly transport: Transport;
  readonly handlers: Handlers;
  readonly registration: Omit<
    Registration,
    "protocol" | "session" | "types" | "gives_back" | "io_slots" | "data_url"
  >;
  /** Without it, nobody can fetch results that are held here. */
  readonly data?: DataOptions;
  /** How many threads it has for functions that should not run on its main one; 0 by default. */
  readonly threads?: number;
  /** How long a handler or program may take to end once it was told to; 10 s by default. */
  readonly graceMs?: number;
  /** Variables that programs inherit. The default is PATH, HOME and other harmless variables of this process. */
  readonly environment?: Environment;
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
  /** `tasks` are those that run. */
  | {
      readonly type: "draining";
      readonly running: number;
      readonly tasks: readonly Pick<Assignment, "task" | "task_type" | "attempt" | "node">[];
      readonly returned: number;
    }
  | { readonly type: "warning"; readonly message: string };

/** How many tasks that take no slot run at once. */
const MAX_IO = 256;

/** Settled attempts that a worker remembers, so that it runs none of them a second time. */
const MAX_REMEMBERED = 10_000;
const DEFAULT_GRACE_MS = 10_000;
const DEFAULT_REPORT_MS = 30_000;

export class Worker {
  readonly #options: WorkerOptions;
  #registration: Registration;
  readonly #attemptHost: AttemptHost;
  readonly #held = new PassingMap<string, TaskAttempt>();
  readonly #waiting = new Waiting();
  readonly #running = new PassingMap<TaskAttempt, true>();
  /** See `Specimens`. */
  readonly #specimens: Specimens<"attempt"> = {};
  /** Of those that run. */
  #io = 0;
  readonly #followers = new Followers();
  #room: ChunkRoom = ChunkRoom.closed();
  readonly #processors: Processors;
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
    this.#registration = {
      ...options.registration,
      protocol: 1,
      session: randomUUID(),
      types,
      gives_back: true,
      io_slots: MAX_IO,
    };
    this.#attemptHost = {
      graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
      environment: options.environment ?? listedEnvironment(process.env),
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
      makers: {
        worker: this.#registration.id,
        room: () => this.#room,
        follow: (chunk, onEnd) => this.#follow(chunk, onEnd),
      },
      warn: (message) => this.#observe({ type: "warning", message }),
    };
    this.#processors = new Processors(options.threads ?? 0);
    this.#outbox = new Outbox((key, report, ack) => this.#settle(key, report, ack));
    this.#whenOver = new Promise((resolve) => {
      this.#over.signal.addEventListener("abort", () => resolve(undefined));
    });
  }

  /** Until it has drained or was stopped. Throws `ConnectionRefused` when the server will not have it. */
  async run(): Promise<void> {
    try {
      await this.#openRoom();
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
      await Promise.all([
        this.#runtime?.then((runtime) => runtime.close()),
        this.#processors.close(),
        this.#room.close(),
      ]);
    }
  }

  async #openRoom(): Promise<void> {
    const { data } = this.#options;
    if (!data) return;
    this.#room = await ChunkRoom.open(data);
    if (this.#room.url !== undefined)
      this.#registration = { ...this.#registration, data_url: this.#room.url };
  }

  /** Uses another certificate for new connections of those who fetch results. Only if `data.tls` was given. */
  renewTls(tls: ServerTls): void {
    this.#room.renewTls(tls);
  }

  /** Take nothing more, finish what runs, and leave. What has not begun goes back to the server. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    // Missing from the next heartbeat, or at the latest when we leave, they are given to others.
    const returned = this.#waiting.size;
    for (const attempt of this.#waiting.clear()) this.#drop(attempt);
    const tasks = Array.from(this.#running.keys(), ({ assignment: { task, task_type, attempt, node } }) => ({
      task,
      task_type,
      attempt,
      ...(node !== undefined && { node }),
    }));
    this.#observe({ type: "draining", running: tasks.length, tasks, returned });
    this.#connection?.drain();
    this.#limitExhausted();
    this.#leaveWhenDone();
  }

  /** Leave at once. What runs is told to stop, and the server gives it to others. */
  stop(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    for (const limit of this.#limits.values()) clearTimeout(limit);
    for (const attempt of this.#running.keys()) attempt.cancel();
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
      const chunks = this.#room.store.ids();
      if (chunks.length > 0) connection.chunks(chunks);
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
    recall: (attempts) => this.#whenInUse(() => this.#recall(attempts)),
    recharge: (recharges) => {
      for (const recharge of recharges) this.#held.get(keyOf(recharge))?.recharge(recharge);
    },
    free: (chunks) => this.#room.store.free(chunks),
    drain: () => this.#whenInUse(() => this.drain()),
  };

  /** Servers may send work in the same breath as their welcome. */
  #whenInUse(act: () => void): void {
    if (this.#connection) act();
    else this.#early.push(act);
  }

  #heartbeat(): Heartbeat {
    if (this.#held.size === 0) this.#room.forgetSmall();
    return {
      attempts: [...this.#held.values()].map(({ assignment: { task, attempt }, startedAt, exhausted }) => ({
        task,
        attempt,
        started_at: startedAt,
        ...(exhausted && { exhausted }),
      })),
      ...(this.#options.data && { memory: this.#room.memory }),
    };
  }

  #assign(assignments: readonly Assignment[]): void {
    for (const assignment of assignments) {
      const attempt = new TaskAttempt(assignment, this.#attemptHost);
      const { key } = attempt;
      if (this.#settled.has(key)) this.#giveBackAgain(assignment);
      if (this.#draining || this.#held.has(key) || this.#settled.has(key)) continue;
      this.#held.set(key, attempt);
      this.#waiting.add(attempt);
      if (attempt.data) this.#gather(attempt);
      else this.#waiting.makeReady(attempt);
    }
    this.#startWaiting();
  }

  /**
   * Declines an attempt that this worker has already settled. A server that was restored from a backup gives it out again, and
   * would wait for it. The attempt must not run twice under one number, so its task gets another one.
   */
  #giveBackAgain(name: AttemptName): void {
    const key = keyOf(name);
    if (!this.#outbox.has(key)) this.#outbox.add(key, returned(name));
  }

  /** Its inputs come while others run. */
  #gather(attempt: TaskAttempt): void {
    attempt.data?.gather(
      () => {
        this.#waiting.makeReady(attempt);
        this.#startWaiting();
      },
      (error) => {
        if (!this.#waiting.delete(attempt)) return;
        if (error instanceof Dropped) this.#drop(attempt);
        else this.#report(attempt, attempt.unstarted(failureOf(error)));
      },
    );
  }

  #cancel(attempts: readonly AttemptName[]): void {
    for (const name of attempts) {
      const attempt = this.#held.get(keyOf(name));
      if (!attempt) continue;
      if (this.#waiting.delete(attempt)) {
        attempt.data?.stop();
        this.#report(attempt, attempt.unstarted({ type: "cancelled" }));
      } else attempt.cancel();
    }
  }

  /** What has not begun is given back, and never begins; what has goes on, and a heartbeat says so. */
  #recall(attempts: readonly AttemptName[]): void {
    let isRunning = false;
    for (const name of attempts) {
      const key = keyOf(name);
      const attempt = this.#held.get(key);
      if (attempt && this.#waiting.delete(attempt)) {
        attempt.data?.stop();
        this.#report(attempt, returned(name));
      } else if (attempt) isRunning = true;
      else if (!this.#settled.has(key)) {
        // It came before the assignment did.
        this.#settled.set(key, true);
        this.#outbox.add(key, returned(name));
      }
    }
    if (isRunning) this.#connection?.beat();
  }

  #startWaiting(): void {
    while (this.#running.size - this.#io < this.#registration.slots) {
      const attempt = this.#waiting.take(false);
      if (!attempt) break;
      this.#run(attempt);
    }
    while (this.#io < MAX_IO) {
      const attempt = this.#waiting.take(true);
      if (!attempt) break;
      this.#run(attempt);
    }
  }

  #run(attempt: TaskAttempt): void {
    const { assignment } = attempt;
    const { handlers, observe } = this.#options;
    const work = workOf(attempt, handlers, this.#processors);
    if ("code" in work) {
      this.#report(attempt, attempt.unstarted(work));
      return;
    }
    this.#running.set(attempt, true);
    this.#specimens.attempt = attempt;
    if (attempt.isIo) this.#io++;
    observe?.({ type: "started", assignment });
    const sinceMs = performance.now();
    attempt.run(work, (report) => {
      this.#running.delete(attempt);
      if (attempt.isIo) this.#io--;
      // After leaving there is nobody to report to, and what was stopped for that reason was not cancelled.
      if (this.#over.signal.aborted) return;
      // It was given back.
      if (!this.#held.has(attempt.key)) return this.#leaveWhenDone();
      observe?.({ type: "ended", assignment, report, ms: performance.now() - sinceMs });
      this.#report(attempt, report);
      this.#startWaiting();
      // Where nobody is there to acknowledge it.
      this.#leaveWhenDone();
    });
  }

  /** Whoever assigned it hears nothing, and finds it missing. */
  #drop(attempt: TaskAttempt): void {
    attempt.data?.stop();
    this.#held.delete(attempt.key);
    this.#followers.tell(attempt.key, false);
  }

  #follow(chunk: string, onEnd: (isFinished: boolean) => void): boolean {
    const maker = this.#held.get(chunk);
    if (!maker || !(this.#waiting.has(maker) || this.#running.has(maker))) return false;
    this.#followers.add(chunk, onEnd);
    return true;
  }

  #report(attempt: TaskAttempt, report: Report): void {
    // Before the report: the log of a task that has ended should be whole.
    this.#sendLogs();
    this.#outbox.add(attempt.key, report);
    this.#followers.tell(attempt.key, report.type === "finished" && !report.expansion);
  }

  #settle(key: string, report: Report, ack: Ack | undefined): void {
    const attempt = this.#held.get(key);
    this.#held.delete(key);
    this.#settled.set(key, true);
    if (attempt && (report.type !== "finished" || ack?.accepted === false)) this.#offerBack(attempt, report);
    this.#leaveWhenDone();
  }

  /**
   * An attempt that made nothing may have made a chunk all the same, or fetched some, of which the server does not know: it
   * says whether anybody needs them. What others here wait for is not asked about.
   */
  #offerBack(attempt: TaskAttempt, report: Report): void {
    const ids = new Set(attempt.inputs);
    for (const other of this.#held.values()) for (const chunk of other.inputs) ids.delete(chunk);
    const fetched = [...ids].filter((id) => this.#room.store.has(id));
    const made = report.type === "finished" && report.chunk ? [attempt.key] : [];
    if (made.length + fetched.length > 0) this.#connection?.chunks([...made, ...fetched]);
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
    for (const attempt of this.#running.keys())
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

function returned({ task, attempt }: AttemptName): Report {
  return { type: "returned", task, attempt, started_at: -1 };
}
