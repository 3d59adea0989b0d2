import type { State } from "../scheduler/index.ts";
import { QUEUED, type SubmittedTask } from "../store/index.ts";
import type { TaskView } from "./api.ts";
import { givenIn, tierOf } from "./live-task.ts";

/** A task as it was taken; what else there is to say about it is found out when somebody wants to know. */
export class NewTask {
  readonly accepted = true;
  readonly repeated = false;
  readonly throttle: boolean;
  readonly #state: State;
  readonly #task: SubmittedTask;
  readonly #now: number;

  constructor(state: State, task: SubmittedTask, now: number, throttle: boolean) {
    this.#state = state;
    this.#task = task;
    this.#now = now;
    this.throttle = throttle;
  }

  get id(): string {
    return this.#task.id;
  }

  /** Written out: to copy two objects into one, name by name, takes as long as to answer a request. */
  get task(): TaskView {
    const task = this.#task;
    return {
      id: task.id,
      run: task.run,
      zone: task.zone,
      agent: task.agent,
      executor: task.executor,
      type: task.type,
      priority: task.priority,
      requestState: task.requestState,
      priorityClass: task.priorityClass,
      boostMicros: task.boostMicros,
      estimateMs: task.estimateMs,
      deadline: task.deadline,
      runAt: task.runAt,
      settings: task.settings,
      payload: task.payload,
      payloadHash: task.payloadHash,
      enqueuedAt: task.enqueuedAt,
      submittedSeq: task.submittedSeq,
      status: QUEUED.status,
      attempt: QUEUED.attempt,
      worker: QUEUED.worker,
      startedAt: QUEUED.startedAt,
      endedAt: QUEUED.endedAt,
      result: QUEUED.result,
      resultHash: QUEUED.resultHash,
      errorCode: QUEUED.errorCode,
      errorMessage: QUEUED.errorMessage,
      costMicros: QUEUED.costMicros,
      seq: task.submittedSeq,
      effectiveTier: this.#effectiveTier(),
      progress: undefined,
      speculation: undefined,
      budget: givenIn(task.settings),
    };
  }

  #effectiveTier(): number {
    const { priority, boostMicros, enqueuedAt, estimateMs, deadline, runAt } = this.#task;
    const { status, startedAt, endedAt } = QUEUED;
    const row = {
      priority,
      boostMicros,
      enqueuedAt,
      estimateMs,
      deadline,
      runAt,
      status,
      startedAt,
      endedAt,
    };
    return tierOf(this.#state, row, this.#now);
  }
}
