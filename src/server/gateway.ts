import { NOT_PERMITTED } from "../chunks/index.ts";
import type { AboutChunk, Answer, Driver, Fact } from "../driver/index.ts";
import { taskKey, type Worker, type WorkerSpec } from "../placement/index.ts";
import type { Ack, Heartbeat, LogEntry, Progress, Registration, Report } from "../protocol/index.ts";
import { isHolding, type State } from "../scheduler/index.ts";
import type { ServiceStore } from "../store/index.ts";
import type { Caller, RegistrationRefusal, WorkerGateway, WorkerSession, WorkerSink } from "./api.ts";
import { Assignments } from "./assignments.ts";
import { type DataTerms, lossesOf, lostInputs } from "./data-terms.ts";
import { expansionOf } from "./expansions.ts";
import { LogBuffer } from "./log-buffer.ts";
import type { Payloads } from "./payloads.ts";
import { type PlacedTask, PlacedTasks } from "./placed-tasks.ts";
import { exhaustionOf, rechargeOn } from "./recharges.ts";
import type { Results } from "./results.ts";
import type { Traces } from "./traces.ts";
import { type GivenUp, Watchdog } from "./watchdog.ts";
import { Admissions, type WorkerLimits } from "./worker-limits.ts";
import { type AttemptName, attemptKey, Session, type SessionHost } from "./worker-session.ts";
import { awayOrBack, payloadIdOf, reportStimulus, sameWorker, specOf } from "./worker-terms.ts";

export interface GatewayOptions {
  readonly driver: Driver;
  readonly store: Pick<ServiceStore, "appendLogs">;
  readonly payloads: Payloads;
  readonly results: Results;
  readonly data: DataTerms;
  readonly limits: WorkerLimits & { readonly registrationBytes: number };
  /** A worker that is silent for this long is lost. */
  readonly leaseMs: number;
  /** What a worker may take beyond a time-out, or to confirm that it cancelled. */
  readonly graceMs: number;
  readonly maxResultBytes: number;
  readonly maxLogBytes: number;
  readonly warn: (message: string) => void;
  readonly traces?: Pick<Traces, "of">;
  /** Told of every report that was refused. */
  readonly onFenced?: () => void;
}

const ACCEPTED: Ack = { accepted: true };
const UNKNOWN: Ack = { accepted: false, code: "unknown" };

function ackOf(answer: Answer): Ack {
  return answer.accepted ? ACCEPTED : { accepted: false, code: answer.code };
}

/** Names an attempt by the ledger's numbers, and its task and worker for the case that the stimulus is refused. */
function namesOf({ run, node, attempt, id: taskId, worker: reporter }: PlacedTask) {
  return { run, node, attempt, taskId, reporter };
}

/** When an attempt that still runs is recorded as started. */
const STARTED_AFTER_MS = 1000;

/**
 * Stands between the scheduler and the workers: lets assignments out once they are committed, turns what workers say
 * into stimuli, and loses those that are silent.
 */
export class Gateway implements WorkerGateway, SessionHost, AsyncDisposable {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly #options: GatewayOptions;
  readonly #sessions = new Map<number, Session>();
  readonly #watchdog: Watchdog;
  readonly #placed: PlacedTasks;
  readonly #assignments: Assignments;
  readonly #away = new Set<number>();
  readonly #progress = new Map<string, Progress>();
  readonly #logs: LogBuffer;
  readonly #admissions: Admissions;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#admissions = new Admissions(options.limits);
    this.leaseMs = options.leaseMs;
    this.heartbeatMs = Math.max(100, Math.floor(options.leaseMs / 3));
    const { state } = options.driver;
    this.#placed = new PlacedTasks(state);
    this.#assignments = new Assignments(options, this.#placed, (worker) => this.#sessions.get(worker));
    this.#logs = new LogBuffer(options.store, options.maxLogBytes, options.warn);
    this.#watchdog = new Watchdog({
      leaseMs: options.leaseMs,
      onSilent: (worker) => this.#lose(worker),
      onOverdue: (taskId, kind) => this.#giveUp(taskId, kind),
    });
    // Whoever was here before we came gets a whole lease to come back, and nothing new until then.
    for (const worker of state.fleet.known()) {
      if (worker.status === "Unreachable") continue;
      this.#watchdog.touch(worker.number);
      this.#setAway(worker.number, true);
    }
    for (const { id } of this.#placed.cancelling(state)) this.#giveUpSoon(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watchdog[Symbol.dispose]();
    for (const session of this.#sessions.values()) session.close();
    await this.#logs[Symbol.asyncDispose]();
  }

  progressOf(taskId: string): Progress | undefined {
    return this.#progress.get(taskId);
  }

  /** It may come back: its lease has not ended. */
  isAway(worker: number): boolean {
    return this.#away.has(worker);
  }

  /** Undefined: it holds no chunks, or has not said so to this server. */
  chunksOf(worker: number): Heartbeat["memory"] {
    return this.#sessions.get(worker)?.memory;
  }

  /** What a committed turn means to the workers. */
  letOut(facts: readonly Fact[]): void {
    const { payloads } = this.#options;
    const assigned: PlacedTask[] = [];
    const recalled: (AttemptName & { readonly worker: number })[] = [];
    for (const fact of facts) {
      const { event, about } = fact;
      for (const { id, attempt } of about?.withdrawn ?? []) this.#withdraw(id, attempt);
      this.#placed.follow(fact);
      const taskId = about?.task?.id;
      switch (event.kind) {
        case "TaskAssigned":
          if (taskId !== undefined) assigned.push(this.#placed.live(taskId) as PlacedTask);
          break;
        case "RunSubmitted":
          if (about?.expanded) this.#forget(about.expanded);
          break;
        case "CancelSignalled":
          if (taskId !== undefined) this.#cancel(taskId, event.attempt);
          break;
        case "TaskRecalled":
          if (taskId !== undefined)
            recalled.push({ worker: event.worker, task: taskId, attempt: event.attempt });
          break;
        case "TaskRecharged":
          if (taskId !== undefined) this.#recharge(taskId);
          break;
        case "ChunksFreed":
        case "CacheEvicted":
          this.#free(about?.freed ?? []);
          break;
        case "ChunkLost":
          // The worker may well have it: somebody could not get it from there.
          if (about?.lost !== undefined) this.#freeUnneeded(event.worker, [about.lost]);
          break;
        case "DrainRequested":
          this.#sessions.get(event.worker)?.askToDrain();
          break;
        case "WorkerLost":
          this.#watchdog.forgetWorker(event.worker);
          this.#away.delete(event.worker);
          this.#options.data.forget(event.worker);
          // Whoever speaks for it now does not know, and has to come anew.
          this.#sessions.get(event.worker)?.close();
          this.#sessions.delete(event.worker);
          break;
        case "AttemptFinished":
        case "TaskRetried":
          if (taskId !== undefined) this.#forgetAttempt(taskId);
          break;
        case "TaskFailed":
        case "TaskCancelled":
          if (taskId !== undefined) this.#forget(taskId);
          break;
        default:
      }
    }
    // What is placed and ended in one turn needs no assignment.
    const open = assigned.filter((task) => this.#placed.live(task.id) === task);
    if (open.length < assigned.length)
      for (const task of assigned)
        if (this.#placed.live(task.id) === undefined) payloads.drop(payloadIdOf(task));
    if (open.length > 0) void this.#assignments.send(open);
    for (const worker of new Set(recalled.map((one) => one.worker)))
      this.#sessions.get(worker)?.recall(recalled.filter((one) => one.worker === worker));
  }

  async register(
    caller: Caller,
    registration: Registration,
    heartbeat: Heartbeat,
    sink: WorkerSink | undefined,
    peer?: string,
  ): Promise<WorkerSession | RegistrationRefusal> {
    const { driver } = this.#options;
    const url = await this.#dataUrlOf(registration, peer);
    if (typeof url === "object") return url;
    const spec = specOf(registration, caller);
    const refusal = await driver.read(
      (state) => this.#refusal(state, spec) ?? this.#admissions.admit(state, spec),
    );
    if (refusal) return refusal;
    try {
      const known = await driver.read((state) => sameWorker(state, spec));
      // Behind whatever waits to be said of it: it may be lost by then, although it was not when we looked.
      if (known) {
        this.#away.delete(known.number);
        await driver.submit(awayOrBack(known.number, false));
      }
      const isBack = known && (await driver.read((state) => sameWorker(state, spec) === known));
      if (!isBack) await driver.submit({ kind: "WorkerRegistered", worker: spec });
    } finally {
      this.#admissions.settle(spec);
    }
    // In one go: what was committed until now is known here, and whatever is committed later goes to the session.
    const { number } = driver.state.fleet.named(spec.zone, spec.id) as Worker;
    this.#sessions.get(number)?.close();
    this.#away.delete(number);
    const names = { workerId: spec.id, token: spec.endpoint, keyId: caller.keyId };
    const session = new Session(this, names, number, sink);
    this.#sessions.set(number, session);
    this.#options.data.note(number, spec.id, url, peer);
    const { missing, cancelling } = this.#compare(number, heartbeat);
    this.heartbeat(session, heartbeat);
    // After the answer to the registration, which the transport sends first.
    setImmediate(() => {
      if (missing.length > 0) void this.#assignments.send(missing);
      for (const { id } of this.#placed.on(number)) this.#recharge(id);
      for (const { id, attempt } of cancelling) session.cancel({ task: id, attempt });
      const recalled = this.#placed.on(number).map(({ id, attempt }) => ({ task: id, attempt }));
      session.recall(recalled.filter((name) => this.isRecalled(session, name)));
    });
    return session;
  }

  /** Returns the URL under which others may fetch from the worker, if there is one. */
  async #dataUrlOf(
    { id, data_url: url }: Registration,
    peer: string | undefined,
  ): Promise<string | undefined | RegistrationRefusal> {
    if (url === undefined) return undefined;
    const standing = await this.#options.data.standingOf(url, peer);
    if (standing === "reachable") return url;
    if (standing === "refused")
      return { refused: "invalid", message: `/registration/data_url: ${NOT_PERMITTED}` };
    this.#options.warn(
      `worker ${id} comes from ${peer} and serves results at ${url}, which others cannot reach; give it --data-host or --data-url`,
    );
    return undefined;
  }

  session(caller: Caller, workerId: string, token: string): WorkerSession | undefined {
    for (const session of this.#sessions.values()) {
      if (session.workerId === workerId && session.token === token && session.keyId === caller.keyId) {
        return session;
      }
    }
    return undefined;
  }

  async report(session: Session, reports: readonly Report[]): Promise<readonly Ack[]> {
    this.#touch(session);
    const { driver, maxResultBytes } = this.#options;
    const now = driver.now();
    const acks = new Array<Ack>(reports.length).fill(UNKNOWN);
    const stimuli: Parameters<Driver["submitAll"]>[0][number][] = [];
    /** By stimulus, the report that it is the answer to. */
    const places: number[] = [];
    for (let at = 0; at < reports.length; at++) {
      const report = reports[at] as Report;
      const task = this.#placed.known(report.task);
      if (!task || !this.#mayReport(session, task, report.attempt)) continue;
      for (const stimulus of lossesOf(driver.state, task, report, (worker) => this.#isUnreachable(worker)))
        stimuli.push({ stimulus });
      const { number } = session;
      places[stimuli.length] = at;
      stimuli.push(
        lostInputs(task, report, number) ??
          expansionOf(driver.state, task, report, now) ??
          reportStimulus(driver.state, task, report, number, now, maxResultBytes),
      );
    }
    const answers = await driver.submitAll(stimuli);
    places.forEach((at, index) => {
      acks[at] = ackOf(answers[index] as Answer);
    });
    for (const { accepted } of acks) if (!accepted) this.#options.onFenced?.();
    return acks;
  }

  heartbeat(session: Session, { attempts, load, overloaded, memory }: Heartbeat): void {
    this.#touch(session);
    const now = this.#options.driver.timeOfDay();
    const listed = new Map<string, number>();
    for (const attempt of attempts) {
      const key = attemptKey(attempt);
      listed.set(key, attempt.started_at);
      const hasBegun = attempt.started_at >= 0;
      if (hasBegun && (now - attempt.started_at >= STARTED_AFTER_MS || this.isRecalled(session, attempt)))
        this.#noteStarted(session, attempt, key);
      if (attempt.exhausted) this.#noteExhausted(session, attempt, attempt.exhausted);
    }
    for (const [key, at] of session.listed) if (!listed.has(key)) this.#noteMissing(session, key, at);
    session.listed = listed;
    session.memory = memory;
    if (load !== undefined || overloaded !== undefined) {
      this.#submit({
        kind: "WorkerLoadReported",
        worker: session.number,
        loadPermille: Math.round((load ?? 0) * 1000),
        saysOverloaded: overloaded ?? false,
      });
    }
  }

  log(session: Session, entries: readonly LogEntry[]): void {
    this.#touch(session);
    this.#logs.add(entries.filter((entry) => this.#ownedBy(session, entry)));
  }

  progress(session: Session, progress: Progress): void {
    this.#touch(session);
    if (this.#ownedBy(session, progress)) this.#progress.set(progress.task, progress);
  }

  async drain(session: Session): Promise<void> {
    this.#touch(session);
    await this.#options.driver.submit({ kind: "DrainRequested", worker: session.number });
  }

  async leave(session: Session): Promise<void> {
    if (this.#sessions.get(session.number) !== session) return;
    this.#sessions.delete(session.number);
    await this.#options.driver.submit({ kind: "WorkerLost", worker: session.number, code: "left" });
  }

  /** It may come back before its lease ends; until then it keeps what it has, and gets nothing new. */
  disconnected(session: Session): void {
    if (this.#sessions.get(session.number) === session) this.#setAway(session.number, true);
  }

  isHeld(session: Session, { task, attempt }: AttemptName): boolean {
    const placed = this.#placed.live(task);
    return placed !== undefined && placed.attempt === attempt && placed.worker === session.number;
  }

  isRecalled(session: Session, name: AttemptName): boolean {
    const { recalls } = this.#options.driver.state.fleet;
    const placed = recalls.size === 0 ? undefined : this.#placed.live(name.task);
    return (
      placed !== undefined && this.isHeld(session, name) && recalls.has(taskKey(placed.run, placed.node))
    );
  }

  /**
   * Of the last attempt that went out, only whose it is; of an earlier one, whoever may have had it. A later one has
   * not gone out to anybody, even if it is being decided at this moment.
   */
  #mayReport(session: Session, task: PlacedTask, attempt: number): boolean {
    if (attempt === task.attempt) return task.worker === session.number;
    const { zone, zones } = this.#options.driver.state.worker(session.number).spec;
    return attempt < task.attempt && (task.zone === zone || zones.includes(task.zone));
  }

  /** For the scheduler, a worker that cannot be reached for a while is one that has too much to do. */
  #setAway(worker: number, away: boolean): void {
    if (away) this.#away.add(worker);
    else this.#away.delete(worker);
    this.#submit(awayOrBack(worker, away));
  }

  #ownedBy(session: Session, { task, attempt }: AttemptName): boolean {
    const placed = this.#placed.known(task);
    return placed !== undefined && placed.attempt === attempt && placed.worker === session.number;
  }

  #touch(session: Session): void {
    if (this.#sessions.get(session.number) === session) this.#watchdog.touch(session.number);
  }

  #refusal(state: State, spec: WorkerSpec): RegistrationRefusal | undefined {
    const known = state.fleet.named(spec.zone, spec.id);
    if (!known || known.status === "Unreachable") return undefined;
    const isSameProcess = known.spec.endpoint === spec.endpoint;
    const isSameKey = known.spec.key === spec.key || (known.spec.key === undefined && isSameProcess);
    if (isSameKey && (isSameProcess || !this.#sessions.get(known.number)?.isConnected)) return undefined;
    const why = isSameKey ? "is connected" : "came with another API key, and its lease has not ended,";
    return {
      refused: "worker-taken",
      message: `another worker ${why} under the id ${spec.id}; give each worker an id of its own`,
    };
  }

  /** What the worker should have, against what it says that it has. */
  #compare(worker: number, { attempts }: Heartbeat): { missing: PlacedTask[]; cancelling: PlacedTask[] } {
    const listed = new Set(attempts.map(attemptKey));
    const held = this.#placed.on(worker);
    return {
      missing: held.filter(({ id, attempt }) => !listed.has(attemptKey({ task: id, attempt }))),
      cancelling: held.filter(({ id }) => this.#watchdog.givesUp(id) === "AttemptCancelled"),
    };
  }

  #free(chunks: readonly AboutChunk[]): void {
    const byWorker = new Map<number, string[]>();
    for (const { id, workers } of chunks) {
      for (const worker of workers)
        if (byWorker.get(worker)?.push(id) === undefined) byWorker.set(worker, [id]);
    }
    for (const [worker, ids] of byWorker) this.#sessions.get(worker)?.free(ids);
  }

  /** True if the worker is connected but nobody can fetch from it. */
  #isUnreachable(worker: number): boolean {
    return this.#sessions.has(worker) && this.#options.data.urlOf(worker) === undefined;
  }

  /** A worker says what it holds: what nobody needs it need not keep. */
  chunks(session: Session, ids: readonly string[]): void {
    this.#touch(session);
    this.#freeUnneeded(session.number, ids);
  }

  #freeUnneeded(worker: number, ids: readonly string[]): void {
    const unneeded = ids.filter((id) => !isHolding(this.#options.driver.state, worker, id));
    if (unneeded.length > 0) this.#sessions.get(worker)?.free(unneeded);
  }

  #cancel(taskId: string, attempt: number): void {
    const placed = this.#placed.live(taskId);
    if (!placed) return;
    this.#sessions.get(placed.worker)?.cancel({ task: taskId, attempt });
    this.#giveUpSoon(taskId);
  }

  /** It has not begun, and its worker may have dropped it already: nothing more is heard of it. */
  #withdraw(taskId: string, attempt: number): void {
    const placed = this.#placed.live(taskId);
    if (placed) this.#sessions.get(placed.worker)?.cancel({ task: taskId, attempt });
    this.#forget(taskId);
  }

  /** Tells its worker how much it was recharged in all, if at all. */
  #recharge(taskId: string): void {
    const placed = this.#placed.live(taskId);
    const recharge = placed && rechargeOn(this.#options.driver.state, placed);
    if (recharge) this.#sessions.get(placed.worker)?.recharge(recharge);
  }

  #noteExhausted(
    session: Session,
    name: AttemptName,
    exhausted: NonNullable<Heartbeat["attempts"][number]["exhausted"]>,
  ): void {
    const placed = this.#placed.live(name.task);
    if (!placed || !this.isHeld(session, name)) return;
    const stimulus = exhaustionOf(this.#options.driver.state, placed, exhausted);
    if (stimulus) this.#submit(stimulus);
  }

  #giveUpSoon(taskId: string): void {
    this.#watchdog.giveUpIn(this.#options.graceMs, taskId, "AttemptCancelled");
  }

  #forget(taskId: string): void {
    this.#forgetAttempt(taskId);
    this.#options.payloads.drop(taskId);
  }

  #forgetAttempt(taskId: string): void {
    this.#progress.delete(taskId);
    this.#watchdog.forgetTask(taskId);
  }

  #noteStarted(
    session: Session,
    { task, attempt, started_at: at }: AttemptName & { started_at: number },
    key: string,
  ): void {
    const placed = this.#placed.live(task);
    if (session.started.has(key) || !placed || !this.isHeld(session, { task, attempt })) return;
    session.started.add(key);
    const { driver } = this.#options;
    const startedAt = Math.min(driver.state.ledgerTime(at), driver.now());
    this.#submit({ kind: "AttemptStarted", ...namesOf(placed), startedAt });
    const tasks = this.#options.driver.state.tasksAt(placed.run);
    const timeoutMs = tasks?.has(placed.node) ? tasks.taskOf(placed.node).timeoutMs : 0;
    if (timeoutMs > 0 && !this.#watchdog.givesUp(task))
      this.#watchdog.giveUpIn(timeoutMs + this.#options.graceMs, task, "AttemptTimedOut");
  }

  /** It was there in an earlier heartbeat, and its end was never acknowledged. */
  #noteMissing(session: Session, key: string, startedAt: number): void {
    session.started.delete(key);
    const [task = "", attempt = ""] = key.split("#");
    const placed = this.#placed.live(task);
    if (!placed || !this.isHeld(session, { task, attempt: Number(attempt) })) return;
    this.#submit({ kind: "AttemptLost", ...namesOf(placed), startedAt });
  }

  #lose(worker: number): void {
    this.#sessions.get(worker)?.close();
    this.#sessions.delete(worker);
    this.#submit({ kind: "WorkerLost", worker, code: "lease" });
  }

  #giveUp(taskId: string, kind: GivenUp): void {
    const placed = this.#placed.live(taskId);
    if (placed) this.#submit({ kind, ...namesOf(placed), startedAt: -1 });
  }

  /** What cannot be committed stops the server through the driver; nobody waits for this answer. */
  #submit(stimulus: Parameters<Driver["submit"]>[0]): void {
    this.#options.driver.submit(stimulus).catch(() => {});
  }
}
