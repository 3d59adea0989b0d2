import { Heap } from "../core/index.ts";
import type { LedgerEvent, Report } from "../ledger/index.ts";
import { nodeOfKey, runOfKey, type TaskKey, taskKey, type Worker } from "../placement/index.ts";
import { nextWakeAt } from "./dispatch.ts";
import { restore } from "./restore.ts";
import type { Snapshot } from "./snapshot.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";
import { type Stimulus, step } from "./step.ts";
import type { Tasks } from "./tasks.ts";

/** What happens from outside at a time, in a turn of its own. */
export interface Happening {
  readonly at: number;
  readonly stimuli: readonly Stimulus[];
}

/** An attempt that takes its place among those that its worker runs. */
export interface Beginning {
  readonly tasks: Tasks;
  readonly node: number;
  readonly attempt: number;
  readonly worker: Worker;
}

/** After how long from its beginning an attempt ends, and what its worker reports then. */
export interface Ending {
  readonly tookMs: number;
  readonly report: Report;
}

/** How attempts go; undefined: this one does not end. */
export type Endings = (beginning: Beginning) => Ending | undefined;

export interface PlayOptions {
  /** In the order of their times. */
  readonly happenings?: readonly Happening[];
  /** Undefined: all that workers say is among what happens. */
  readonly endings: Endings | undefined;
  /** No turn after that. */
  readonly until?: number;
  /** No more turns and attempts together than that. */
  readonly most: number;
  /** Asked after every turn. */
  readonly isEnough?: (play: Play) => boolean;
}

export interface PlayedAttempt {
  readonly key: TaskKey;
  readonly attempt: number;
  readonly worker: number;
  readonly readyAt: number;
  readonly assignedAt: number;
  /** Its worker has room to run it; undefined: it was still queued there at the end of the play. */
  startedAt: number | undefined;
  /** However it ended; undefined: not within the play. */
  endedAt: number | undefined;
}

/**
 * What would happen: a state goes on from a snapshot under the real step, in virtual time. Workers run what they were
 * given in that order, as many at a time as they have slots, and report what `endings` says; nothing else happens but
 * what is asked for. The same input always gives the same play, and the snapshot is left as it is.
 */
export class Play {
  readonly state: State;
  now: number;
  turns = 0;
  /** By task the last attempt that was on a worker. */
  readonly last: Map<TaskKey, PlayedAttempt> = new Map();
  readonly attempts: PlayedAttempt[] = [];
  /** Nothing is left that could happen; otherwise there were enough turns. */
  isOver = false;
  readonly #options: PlayOptions;
  readonly #running = new Map<number, Map<TaskKey, PlayedAttempt>>();
  readonly #ends = new Heap<Due>((a, b) => (a.at === b.at ? a.order < b.order : a.at < b.at));
  /** Attempts that wait to be recharged. */
  readonly #exhausted = new Set<PlayedAttempt>();
  #ordered = 0;
  #happened = 0;
  /** What workers answer at once, and what they say when something else happens. */
  #answers: Stimulus[] = [];
  #news: Stimulus[] = [];
  /** In the turn that is being taken: workers with something new, and tasks that were given to workers. */
  readonly #touched = new Set<number>();
  readonly #given: TaskKey[] = [];

  constructor(snapshot: Snapshot, now: number, options: PlayOptions) {
    this.state = restore(snapshot);
    this.now = now;
    this.#options = options;
    this.#adopt();
    this.#run();
  }

  /** What it has taken: turns and attempts. */
  get work(): number {
    return this.turns + this.attempts.length;
  }

  #run(): void {
    const { isEnough, most, until = Number.POSITIVE_INFINITY } = this.#options;
    for (let at: number | undefined = this.now; at !== undefined; at = this.#nextAt()) {
      if (this.work >= most || at > until) return;
      this.now = at;
      this.turns++;
      step(this.state, at, this.#dueStimuli(), (event) => this.#note(event));
      this.#settle();
      if (isEnough?.(this)) return;
    }
    this.isOver = true;
  }

  #nextAt(): number | undefined {
    if (this.#answers.length > 0) return this.now;
    const at = Math.min(
      this.#nextEnd()?.at ?? Number.POSITIVE_INFINITY,
      this.#options.happenings?.[this.#happened]?.at ?? Number.POSITIVE_INFINITY,
      nextWakeAt(this.state, this.now) ?? Number.POSITIVE_INFINITY,
    );
    return at === Number.POSITIVE_INFINITY ? undefined : Math.max(at, this.now);
  }

  #dueStimuli(): Stimulus[] {
    const stimuli = [...this.#news, ...this.#answers];
    this.#news = [];
    this.#answers = [];
    const next = this.#options.happenings?.[this.#happened];
    if (next && next.at <= this.now) {
      this.#happened++;
      stimuli.push(...next.stimuli);
    }
    for (let end = this.#nextEnd(); end && end.at <= this.now; end = this.#nextEnd()) {
      this.#ends.pop();
      stimuli.push(end.report);
    }
    return stimuli;
  }

  /** Attempts may have ended otherwise. */
  #nextEnd(): Due | undefined {
    for (let end = this.#ends.peek(); end; end = this.#ends.peek()) {
      if (end.attempt.endedAt === undefined) return end;
      this.#ends.pop();
    }
    return undefined;
  }

  /** What workers have already: who has said that it runs goes before the others. */
  #adopt(): void {
    for (const worker of this.state.fleet.known()) {
      const keys = [...worker.held.keys()];
      const isRunning = (key: TaskKey) => this.#tasks(key).statusOf(nodeOfKey(key)) !== Status.assigned;
      for (const key of [...worker.ahead, ...keys]) this.#assign(key, worker.number);
      for (const key of [...keys.filter(isRunning), ...keys.filter((key) => !isRunning(key))]) {
        const attempt = this.last.get(key) as PlayedAttempt;
        if (this.#hasSlot(worker, key) || isRunning(key))
          this.#begin(worker, attempt, Math.min(this.now, attempt.assignedAt));
        if (this.#tasks(key).statusOf(nodeOfKey(key)) === Status.cancelling) this.#answerCancel(key);
      }
    }
  }

  /** The state is as before the event. */
  #note(event: LedgerEvent): void {
    if ("worker" in event && typeof event.worker === "number") this.#touched.add(event.worker);
    if (event.kind === "WorkerRegistered") {
      const known = this.state.fleet.continuedBy(event.worker);
      if (known) this.#touched.add(known.number);
    }
    if (event.kind === "RunSubmitted" && event.parent) this.#touch(event.parent.run, event.parent.node);
    if (!("run" in event)) return;
    if ("node" in event && event.node !== -1) this.#touch(event.run, event.node);
    if ("nodes" in event) for (const node of event.nodes) this.#touch(event.run, node);
    if (event.kind === "CancelSignalled") this.#answerCancel(taskKey(event.run, event.node));
    if (event.kind === "TaskRecalled") this.#answerRecall(taskKey(event.run, event.node));
    if (event.kind === "TaskAssigned") this.#given.push(taskKey(event.run, event.node));
  }

  #touch(run: number, node: number): void {
    const tasks = this.state.tasksAt(run);
    const worker = tasks?.has(node) ? tasks.workerOf(node) : -1;
    if (worker !== -1) this.#touched.add(worker);
  }

  #settle(): void {
    for (const key of this.#given.splice(0)) this.#assign(key, this.#tasks(key).workerOf(nodeOfKey(key)));
    for (const number of this.#touched) {
      const worker = this.state.worker(number);
      const running = this.#runningOn(worker);
      for (const [key, attempt] of running) {
        if (worker.held.has(key) && this.last.get(key) === attempt) {
          if (this.#exhausted.has(attempt)) this.#goOn(worker, attempt);
          continue;
        }
        attempt.endedAt = this.now;
        running.delete(key);
      }
      for (const key of worker.held.keys()) {
        if (!running.has(key) && this.#hasSlot(worker, key))
          this.#begin(worker, this.last.get(key) as PlayedAttempt, this.now);
      }
    }
    this.#touched.clear();
  }

  #assign(key: TaskKey, worker: number): void {
    const tasks = this.#tasksAt(key);
    if (!tasks) return;
    const node = nodeOfKey(key);
    const attempt: PlayedAttempt = {
      key,
      attempt: tasks.attemptOf(node),
      worker,
      readyAt: tasks.readyAtOf(node),
      assignedAt: tasks.sinceOf(node),
      startedAt: undefined,
      endedAt: undefined,
    };
    const before = this.last.get(key);
    if (before) before.endedAt ??= this.now;
    this.last.set(key, attempt);
    this.attempts.push(attempt);
  }

  #begin(worker: Worker, attempt: PlayedAttempt, since: number): void {
    const { key } = attempt;
    attempt.startedAt = since;
    this.#runningOn(worker).set(key, attempt);
    // Who is asked to give back is asked for what it has not said that it runs.
    if (this.#options.endings && worker.spec.givesBack && since > attempt.assignedAt)
      this.#news.push({ kind: "AttemptStarted", ...this.#named(key), startedAt: since });
    this.#goOn(worker, attempt);
  }

  /** Says how it will end, unless it waits to be recharged. */
  #goOn(worker: Worker, attempt: PlayedAttempt): void {
    const { key, startedAt = this.now } = attempt;
    if (this.state.charges.get(key)?.lacks !== undefined) {
      this.#exhausted.add(attempt);
      return;
    }
    this.#exhausted.delete(attempt);
    const beginning = { tasks: this.#tasks(key), node: nodeOfKey(key), attempt: attempt.attempt, worker };
    const ending = this.#options.endings?.(beginning);
    if (!ending) return;
    const at = Math.max(startedAt + ending.tookMs, this.now + (startedAt < this.now ? 1 : 0));
    this.#ends.push({ at, order: this.#ordered++, attempt, report: { ...ending.report, startedAt } });
  }

  #answerCancel(key: TaskKey): void {
    if (!this.#options.endings) return;
    this.#answers.push({ kind: "AttemptCancelled", ...this.#named(key), startedAt: this.#startOf(key) });
  }

  /** What it has not begun a worker gives back; of what it has begun it says so. */
  #answerRecall(key: TaskKey): void {
    if (!this.#options.endings) return;
    const startedAt = this.#startOf(key);
    const kind = startedAt === -1 ? "AttemptLost" : "AttemptStarted";
    this.#answers.push({ kind, ...this.#named(key), startedAt });
  }

  #startOf(key: TaskKey): number {
    return this.last.get(key)?.startedAt ?? -1;
  }

  #named(key: TaskKey): { readonly run: number; readonly node: number; readonly attempt: number } {
    const node = nodeOfKey(key);
    return { run: runOfKey(key), node, attempt: this.#tasks(key).attemptOf(node) };
  }

  #hasSlot(worker: Worker, key: TaskKey): boolean {
    const isIo = (of: TaskKey) => worker.held.get(of)?.io === true;
    if (isIo(key)) return true;
    const running = this.#runningOn(worker);
    if (worker.io === 0) return running.size < worker.spec.slots;
    return [...running.keys()].filter((of) => !isIo(of)).length < worker.spec.slots;
  }

  #runningOn({ number }: Worker): Map<TaskKey, PlayedAttempt> {
    const running = this.#running.get(number) ?? new Map<TaskKey, PlayedAttempt>();
    this.#running.set(number, running);
    return running;
  }

  #tasks(key: TaskKey): Tasks {
    return this.state.tasks(runOfKey(key));
  }

  #tasksAt(key: TaskKey): Tasks | undefined {
    const tasks = this.state.tasksAt(runOfKey(key));
    return tasks?.has(nodeOfKey(key)) ? tasks : undefined;
  }
}

interface Due {
  readonly at: number;
  /** Of those that end at one time, who began first reports first. */
  readonly order: number;
  readonly attempt: PlayedAttempt;
  readonly report: Report;
}

/** Everything takes as long as was estimated, and completes. */
export function asEstimated({ tasks, node, attempt }: Beginning): Ending {
  const run = tasks.number;
  // Of its own for each: equal hashes would be taken for equal results.
  const resultHash = `played ${run} ${node} ${attempt}`;
  const report = { run, node, attempt, startedAt: -1, resultHash, resultBytes: 0 };
  return {
    tookMs: Math.max(1, tasks.taskOf(node).estimateMs),
    report: { kind: "AttemptFinished", ...report },
  };
}
