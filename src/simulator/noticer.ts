import type { LedgerEvent, ReportRefused, RunSubmitted, TaskSubmitted } from "../ledger/index.ts";
import type { Reason } from "../placement/index.ts";
import { DataNoticer } from "./data-noticer.ts";
import { GrowthNoticer } from "./growth-noticer.ts";
import type { Model } from "./model.ts";
import { barriersOf } from "./model-admission.ts";
import { isDue, isPlaced, type ModelTask } from "./model-tasks.ts";
import { QueueNoticer } from "./queue-noticer.ts";
import { RecallNoticer } from "./recall-noticer.ts";
import type { Happening, Tally } from "./tally.ts";

/** Counts the branches that the ledger shows to have been taken. Looks at events before they are applied. */
export class Noticer {
  readonly #model: Model;
  readonly #tally: Tally;
  readonly #queueing: QueueNoticer;
  readonly #data: DataNoticer;
  readonly #recalls: RecallNoticer;
  readonly #growth: GrowthNoticer;
  readonly #configured = { times: 0 };

  constructor(model: Model, tally: Tally) {
    this.#model = model;
    this.#tally = tally;
    this.#queueing = new QueueNoticer(model, tally);
    this.#data = new DataNoticer(model, tally);
    this.#recalls = new RecallNoticer(model, tally);
    this.#growth = new GrowthNoticer(model, tally);
  }

  /** It was not even counted. */
  refused(stimulus: RunSubmitted | TaskSubmitted): void {
    if (stimulus.kind === "RunSubmitted" && stimulus.parent) this.#growth.refused(stimulus, stimulus.parent);
    else this.#tally.count("submission repeated");
  }

  repeatedKey(inTheSameTurn: boolean): void {
    this.#tally.count(inTheSameTurn ? "key repeated in its turn" : "key repeated later");
  }

  throttled(): void {
    this.#tally.count("throttled");
  }

  afterTurn(now: number): void {
    const groups = new Set<string>();
    for (const task of this.#model.offered) {
      if (!isDue(task, now) || groups.has(task.groupKey)) continue;
      groups.add(task.groupKey);
      for (const barrier of barriersOf(this.#model, task, now)) this.#tally.count(`waits for: ${barrier}`);
    }
    if (groups.size > 0) this.#tally.count("passed over");
  }

  before(event: LedgerEvent, now: number): void {
    const tally = this.#tally;
    this.#queueing.before(event, now);
    this.#data.before(event);
    this.#recalls.before(event);
    this.#growth.before(event);
    switch (event.kind) {
      case "SchedulerConfigured":
        if (this.#configured.times++ > 0) tally.count("reconfigured");
        break;
      case "SubmissionsRefused":
        if (event.code !== "content-refused") tally.count(`submission refused: ${event.code}`, event.count);
        break;
      case "WorkerRegistered":
        this.#register(event.worker.id);
        break;
      case "WorkerLoadReported":
        if (this.#model.workers[event.worker]?.standing === "overloaded") tally.count("worker relieved");
        break;
      case "WorkerLost":
        if (event.code === "left" && this.#hasQueue(event.worker)) tally.count("queue given back");
        if (this.#model.workers[event.worker]?.reservedFor) tally.count("reservation dropped");
        break;
      case "DrainRequested":
        if (this.#model.workers[event.worker]?.reservedFor) tally.count("reservation dropped");
        break;
      case "AttemptLost":
        tally.count(event.startedAt === -1 ? "attempt lost before it began" : "attempt lost");
        break;
      case "AttemptTimedOut":
        tally.count("attempt timed out");
        break;
      case "AttemptFinished":
        if (this.#statusOf(event) === "cancelling") tally.count("cancelled too late");
        break;
      case "ReportRefused":
        this.#refuse(event);
        break;
      case "CancelRequested":
        if (event.node === -1) tally.count("run cancelled");
        break;
      case "TaskBudgetExhausted":
        tally.count("budget exhausted");
        break;
      case "TaskRecharged":
        tally.count("budget recharged");
        break;
      case "TaskAssigned":
        tally.count(happeningOf(event.reason));
        if (this.#model.workers.some(({ reservedFor }) => reservedFor && reservedFor === this.#task(event)))
          tally.count("reservation used");
        break;
      case "TaskSpeculated":
        tally.count(`speculated: ${event.because}`);
        break;
      case "VoteTaken":
        tally.count(`vote: ${event.by}`);
        if (event.scores.includes(null)) tally.count("vote before all have ended");
        break;
      case "TaskRetried":
        if (this.#task(event)?.alternativeOf) tally.count("alternative retried");
        tally.count("retried");
        break;
      case "TaskFailed":
        if (event.code === "attempts") tally.count("attempts exhausted");
        if (this.#restIsStopped(event)) tally.count("rest cancelled after a failure");
        break;
      case "TaskCancelled":
        tally.count(
          this.#statusOf(event) === "settlingCancel" ? "running task cancelled" : "waiting task cancelled",
        );
        break;
      case "TasksSkipped":
        tally.count("dependents skipped", event.nodes.length);
        break;
      case "ReservationMade":
        tally.count("reservation made");
        break;
      case "RoomReserved":
        tally.count("room reserved");
        break;
      case "RunEnded":
        if (this.#model.ended.length >= (this.#model.config?.keepEndedRuns ?? 0))
          tally.count("run forgotten");
        break;
      default:
    }
  }

  #register(id: string): void {
    const lost = this.#model.sortedWorkers().filter(({ standing }) => standing === "unreachable");
    const known = this.#model.workerById(id);
    const left = lost.filter((worker) => worker !== known).length;
    if (left > this.#model.settings.keepLostWorkers) this.#tally.count("worker forgotten");
    if (!known && this.#model.workers.some(({ spec }) => spec.id === id))
      this.#tally.count("forgotten worker came back");
    if (!known) return;
    this.#tally.count("worker came back");
    if (known.standing !== "unreachable") this.#tally.count("worker came back before its lease ended");
  }

  #hasQueue(worker: number): boolean {
    return [...(this.#model.workers[worker]?.held ?? [])].some(({ status }) => status === "assigned");
  }

  #refuse(event: ReportRefused): void {
    const task = this.#task(event);
    if (!task) this.#tally.count("unknown return refused");
    else if (task.reported.has(event.attempt)) this.#tally.count("double return refused");
    else this.#tally.count("late return refused");
  }

  #restIsStopped({ run }: { readonly run: number }): boolean {
    const failed = this.#model.runs.get(run);
    return failed?.onFailure === "cancel" && failed.tasks.some((task) => isPlaced(task));
  }

  #statusOf(name: { readonly run: number; readonly node: number }): string | undefined {
    return this.#task(name)?.status;
  }

  #task(name: { readonly run: number; readonly node: number }): ModelTask | undefined {
    return this.#model.find(name);
  }
}

function happeningOf(reason: Reason): Happening {
  return reason.type === "Affinity" ? `reason Affinity ${reason.because}` : `reason ${reason.type}`;
}
