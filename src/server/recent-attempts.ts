import { PassingMap } from "../core/index.ts";
import type { Fact } from "../driver/index.ts";
import type { AttemptFinished, LedgerEvent, TaskAssigned, Transfer } from "../ledger/index.ts";
import { nodeOfKey, runOfKey, type TaskKey, takesNoSlot, taskKey, type Worker } from "../placement/index.ts";
import { type State, Status } from "../scheduler/index.ts";
import { type AttemptOutcome, EndedAttempts } from "./ended-attempts.ts";
import { Lanes } from "./lanes.ts";

/** An attempt on a worker. Times are times of day; what a worker says of them counts as far as it can be true. */
export interface RecentAttempt {
  /** The worker's number. */
  readonly worker: number;
  /** Its slot there; -1: it waits for one, or never got one. What takes no slot has one behind those. */
  lane: number;
  readonly isIo: boolean;
  readonly taskId: string;
  readonly node: string | undefined;
  readonly attempt: number;
  readonly type: string;
  readonly zone: string;
  readonly agent: string;
  readonly assignedAt: number;
  /** -1: not that anybody knows. */
  startedAt: number;
  /** -1: not yet. */
  endedAt: number;
  /** When the ledger learnt of the end. */
  toldAt: number;
  outcome: AttemptOutcome | undefined;
  transfers: readonly Transfer[];
}

/** The events that end one attempt, and how. */
const OUTCOMES: Readonly<Partial<Record<LedgerEvent["kind"], AttemptOutcome>>> = {
  AttemptFinished: "finished",
  AttemptFailed: "failed",
  AttemptTimedOut: "timed out",
  AttemptLost: "lost",
  AttemptCancelled: "cancelled",
};

const NO_TRANSFERS: readonly Transfer[] = [];

/** What the workers did lately and do now, attempt by attempt. The latest that ended are kept, and all that have not. */
export class RecentAttempts {
  readonly #live: { readonly state: State };
  readonly #open = new PassingMap<TaskKey, RecentAttempt>();
  readonly #ended: EndedAttempts;
  /** By worker: of its slots, and of what runs beside them. */
  readonly #lanes = new Map<number, Lanes>();
  readonly #ioLanes = new Map<number, Lanes>();

  /** Twice as many as are remembered are kept at most. */
  constructor(live: { readonly state: State }, remembered: number) {
    const { state } = live;
    this.#live = live;
    this.#ended = new EndedAttempts(remembered, state.timeOfDay(state.now));
    for (const worker of state.fleet.workers)
      for (const key of [...worker.held.keys(), ...worker.ahead]) this.#adopt(worker, key);
  }

  follow(facts: readonly Fact[]): void {
    for (const fact of facts) this.#note(fact);
    this.#ended.trim();
  }

  /** Nothing that ended later is missing. */
  get wholeFrom(): number {
    return this.#ended.wholeFrom;
  }

  /** What has not ended, then what ended, the latest first. */
  *latest(): Generator<RecentAttempt> {
    yield* this.#open.values();
    yield* this.#ended.latest();
  }

  #note(fact: Fact): void {
    const { event, now } = fact;
    switch (event.kind) {
      case "TaskAssigned":
        this.#assign(fact, event);
        break;
      case "AttemptStarted":
        this.#start(this.#open.get(taskKey(event.run, event.node)), event.startedAt, now);
        break;
      case "RunSubmitted":
        if (event.parent) this.#end(event.parent, "expanded", now);
        break;
      case "TasksWithdrawn":
        for (const node of event.nodes) this.#forget(taskKey(event.run, node));
        break;
      case "WorkerLost":
        this.#lose(event.worker, now);
        break;
      case "WorkerRegistered":
        this.#lose(this.#live.state.fleet.continuedBy(event.worker)?.number ?? -1, now);
        break;
      default: {
        const outcome = OUTCOMES[event.kind];
        if (outcome) this.#end(event as AttemptFinished, outcome, now);
      }
    }
  }

  #assign({ now, about }: Fact, { run, node, attempt, worker }: TaskAssigned): void {
    if (!about?.task) return;
    const { id, node: name, spec } = about.task;
    this.#add(taskKey(run, node), {
      worker,
      lane: -1,
      isIo: takesNoSlot(this.#live.state.worker(worker), spec),
      taskId: id,
      node: name,
      attempt,
      type: spec.type,
      zone: about.zone,
      agent: about.agent,
      assignedAt: now,
      startedAt: -1,
      endedAt: -1,
      toldAt: -1,
      outcome: undefined,
      transfers: NO_TRANSFERS,
    });
  }

  /** What was on a worker before this began to follow. */
  #adopt(worker: Worker, key: TaskKey): void {
    const tasks = this.#live.state.tasks(runOfKey(key));
    const node = nodeOfKey(key);
    const since = this.#live.state.timeOfDay(tasks.sinceOf(node));
    this.#add(key, {
      worker: worker.number,
      lane: -1,
      isIo: takesNoSlot(worker, tasks.taskOf(node)),
      taskId: tasks.taskIdOf(node),
      node: this.#live.state.runs.get(tasks.number)?.graph.idOf(node),
      attempt: tasks.attemptOf(node),
      type: tasks.taskOf(node).type,
      zone: tasks.zoneOf(node),
      agent: tasks.agentOf(node),
      assignedAt: since,
      startedAt: tasks.statusOf(node) === Status.running ? since : -1,
      endedAt: -1,
      toldAt: -1,
      outcome: undefined,
      transfers: NO_TRANSFERS,
    });
  }

  #add(key: TaskKey, attempt: RecentAttempt): void {
    this.#open.set(key, attempt);
    const { slots, ioSlots = 0 } = this.#live.state.worker(attempt.worker).spec;
    const all = attempt.isIo ? this.#ioLanes : this.#lanes;
    let lanes = all.get(attempt.worker);
    if (!lanes) {
      lanes = new Lanes(attempt.isIo ? slots : 0);
      all.set(attempt.worker, lanes);
    }
    lanes.enter(attempt, attempt.isIo ? ioSlots : slots);
  }

  #lanesOf({ isIo, worker }: RecentAttempt): Lanes | undefined {
    return (isIo ? this.#ioLanes : this.#lanes).get(worker);
  }

  /** Its worker's clock may be wrong. */
  #start(attempt: RecentAttempt | undefined, startedAt: number, latest: number): void {
    if (!attempt || startedAt < 0) return;
    attempt.startedAt = Math.max(attempt.assignedAt, Math.min(this.#live.state.timeOfDay(startedAt), latest));
    this.#lanesOf(attempt)?.begin(attempt);
  }

  #end(
    event: Pick<AttemptFinished, "run" | "node" | "startedAt" | "transfers" | "tookMicros">,
    outcome: AttemptOutcome,
    now: number,
  ): void {
    const attempt = this.#open.get(taskKey(event.run, event.node));
    if (!attempt) return;
    const tookMs = Math.ceil((event.tookMicros ?? 0) / 1000);
    this.#start(attempt, event.startedAt, now - tookMs);
    const { startedAt } = attempt;
    const isMeasured = startedAt >= 0 && event.tookMicros !== undefined;
    attempt.endedAt = isMeasured ? Math.min(now, startedAt + tookMs) : now;
    if (event.transfers) attempt.transfers = event.transfers;
    this.#close(taskKey(event.run, event.node), attempt, outcome, now);
  }

  #lose(worker: number, now: number): void {
    for (const [key, attempt] of this.#open) {
      if (attempt.worker !== worker) continue;
      attempt.endedAt = now;
      this.#close(key, attempt, "lost", now);
    }
  }

  #close(key: TaskKey, attempt: RecentAttempt, outcome: AttemptOutcome, now: number): void {
    attempt.toldAt = now;
    attempt.outcome = outcome;
    this.#ended.add(attempt);
    this.#forget(key);
  }

  #forget(key: TaskKey): void {
    const attempt = this.#open.get(key);
    if (!attempt) return;
    this.#open.delete(key);
    this.#lanesOf(attempt)?.leave(attempt);
  }
}
