import type {
  ScheduleAnswer,
  ScheduleBody,
  ScheduleDeleted,
  SchedulesAnswer,
  TaskAnswer,
} from "../protocol/api-schemas.ts";
import { type CallOptions, get, path, post, repeatablePost } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { refuseLossOfPayload, type Submission, withExecutor } from "./submission.ts";

/** A recurring task to make. The executor of its task is "default" where none is named. */
export type NewSchedule = Omit<ScheduleBody, "task"> & {
  readonly task: Omit<Submission, "idempotency_key" | "run_at" | "deadline">;
};

/** Recurring tasks. */
export class Schedules {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async create(schedule: NewSchedule, options: CallOptions = {}): Promise<ScheduleAnswer> {
    refuseLossOfPayload(schedule.task, "task.");
    const body = { ...schedule, task: withExecutor(schedule.task) };
    return await this.#connection.send(post("schedules", body, options));
  }

  async list(options: CallOptions = {}): Promise<ScheduleAnswer[]> {
    const { schedules } = await this.#connection.send<SchedulesAnswer>(get("schedules", options));
    return schedules;
  }

  show(id: string, options: CallOptions = {}): Promise<ScheduleAnswer> {
    return this.#connection.send(get(path`schedules/${id}`, options));
  }

  /** The times that pass meanwhile are not caught up. */
  pause(id: string, options: CallOptions = {}): Promise<ScheduleAnswer> {
    return this.#connection.send(repeatablePost(path`schedules/${id}/pause`, undefined, options));
  }

  resume(id: string, options: CallOptions = {}): Promise<ScheduleAnswer> {
    return this.#connection.send(repeatablePost(path`schedules/${id}/resume`, undefined, options));
  }

  /** Submits its task now, beside its times. */
  run(id: string, options: CallOptions = {}): Promise<TaskAnswer> {
    return this.#connection.send(post(path`schedules/${id}/run`, undefined, options));
  }

  delete(id: string, { signal }: CallOptions = {}): Promise<ScheduleDeleted> {
    return this.#connection.send({
      method: "DELETE",
      path: path`schedules/${id}`,
      isRepeatable: false,
      signal,
    });
  }
}
