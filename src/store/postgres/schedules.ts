import type { ScheduleStore } from "../contract.ts";
import type { ScheduleFired, ScheduleRow } from "../rows.ts";
import type { Reader } from "./reader.ts";

/** A row as PostgreSQL gives it. */
type ScheduleRecord = Readonly<Record<string, string | number | boolean>>;

export class PostgresSchedules implements ScheduleStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async all(): Promise<readonly ScheduleRow[]> {
    return (await this.#reader.rows<ScheduleRecord>("schedules", [])).map(scheduleFrom);
  }

  async save(row: ScheduleRow): Promise<void> {
    const { id, zone, agent, name, cron, timeZone, task, catchUp, catchUpLimit, overlap } = row;
    const { startAt, endAt, paused, createdAt, seenTo, lastFiredAt, lastTaskId, lastError, keyId } = row;
    const settings = [id, zone, agent, name, cron, timeZone, task, catchUp, catchUpLimit, overlap];
    const state = [startAt, endAt, paused, createdAt, seenTo, lastFiredAt, lastTaskId, lastError];
    await this.#reader.rows("save-schedule", [...settings, ...state, keyId]);
  }

  async noteFired(id: string, { seenTo, lastFiredAt, lastTaskId, lastError }: ScheduleFired): Promise<void> {
    await this.#reader.rows("note-fired", [id, seenTo, lastFiredAt, lastTaskId, lastError]);
  }

  async remove(id: string): Promise<void> {
    await this.#reader.rows("delete-schedule", [id]);
  }
}

function scheduleFrom(record: ScheduleRecord): ScheduleRow {
  return {
    id: record["id"],
    zone: record["zone"],
    agent: record["agent"],
    name: record["name"],
    cron: record["cron"],
    timeZone: record["time_zone"],
    task: record["task"],
    catchUp: record["catch_up"],
    catchUpLimit: record["catch_up_limit"],
    overlap: record["overlap"],
    startAt: record["start_at"],
    endAt: record["end_at"],
    paused: record["paused"],
    createdAt: record["created_at"],
    seenTo: record["seen_to"],
    lastFiredAt: record["last_fired_at"],
    lastTaskId: record["last_task_id"],
    lastError: record["last_error"],
    keyId: record["key_id"],
  } as ScheduleRow;
}
