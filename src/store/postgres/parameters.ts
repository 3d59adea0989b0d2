import { ROW_STATUSES, type SubmittedTask, type TaskProgress, type TaskRow } from "../rows.ts";

/** A row as PostgreSQL gives it. */
export type TaskRecord = Readonly<Record<string, string | number | null>>;

export type Columns<T> = readonly ((row: T) => string | number | undefined)[];

/** One array per column, as text: the driver's own way takes twice as long, which shows in large blocks. */
export function arraysOf<T>(rows: readonly T[], columns: Columns<T>): string[] {
  return columns.map((column) => arrayOf(rows, column));
}

/** Most columns say the same for all rows of a block. */
function arrayOf<T>(rows: readonly T[], column: Columns<T>[number]): string {
  if (rows.length === 0) return "{}";
  const value = column(rows[0] as T);
  let same = 1;
  while (same < rows.length && column(rows[same] as T) === value) same++;
  const element = elementOf(value);
  if (same === rows.length) return `{${element}${`,${element}`.repeat(same - 1)}}`;
  const elements = new Array<string | number>(rows.length).fill(element, 0, same);
  for (let at = same; at < rows.length; at++) elements[at] = elementOf(column(rows[at] as T));
  return `{${elements.join(",")}}`;
}

const BETWEEN = "\u0001";

/**
 * Texts as one, with what stands between them: to put them together and to take them apart takes half of what an array
 * takes. Of one text alone nobody could tell whether it is there, if it is empty.
 */
export function joinedOf<T>(rows: readonly T[], column: (row: T) => string): string {
  let joined = column(rows[0] as T);
  for (let at = 1; at < rows.length; at++) joined += BETWEEN + column(rows[at] as T);
  return joined;
}

const NOTHING = "\u0002";

/** As `joinedOf`; what is undefined becomes null. */
export function joinedIfAny<T>(rows: readonly T[], column: (row: T) => string | undefined): string {
  return joinedOf(rows, (row) => column(row) ?? NOTHING);
}

/** Names, hashes and JSON do not hold what stands between texts that are joined; unless somebody made an error. */
export function mayBeJoined(text: string): boolean {
  return !text.includes(BETWEEN) && !text.includes("\0") && text !== NOTHING;
}

export function textOfValue(value: string | number): string {
  return typeof value === "string" ? storable(value) : `${value}`;
}

export function valuesOf(values: readonly unknown[]): unknown[] {
  return values.map((value) => (typeof value === "string" ? storable(value) : value));
}

function elementOf(value: string | number | undefined): string | number {
  if (value === undefined) return "NULL";
  if (typeof value === "number") return value;
  return SPECIAL.test(value) ? `"${storable(value).replaceAll(/["\\]/g, "\\$&")}"` : `"${value}"`;
}

const SPECIAL = /["\\\0]/;

/** PostgreSQL's text cannot hold the character 0, which programs may well print; its picture stands in for it. */
function storable(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\u2400") : text;
}

/** A row without payload, settings and result, unless the record has them. */
export function taskFrom(record: TaskRecord): TaskRow {
  const { used, recharged } = record as { used?: readonly string[]; recharged?: readonly string[] };
  const usage = used && recharged && { used: used.map(Number), recharged: recharged.map(Number) };
  return { ...submittedFrom(record), ...progressFrom(record), ...usage };
}

function submittedFrom(record: TaskRecord): SubmittedTask {
  const { run_id: runId, run_node: node } = record;
  return {
    id: record["id"],
    run: runId === null ? undefined : { id: runId, node },
    zone: record["zone"],
    agent: record["agent"],
    executor: record["executor"],
    type: record["type"],
    priority: record["priority"],
    requestState: record["request_state"],
    priorityClass: record["priority_class"],
    boostMicros: record["boost_micros"],
    estimateMs: record["estimate_ms"],
    deadline: record["deadline"],
    runAt: record["run_at"],
    settings: record["settings"],
    payload: record["payload"],
    payloadHash: record["payload_hash"],
    enqueuedAt: record["enqueued_at"],
    submittedSeq: record["submitted_seq"],
  } as SubmittedTask;
}

function progressFrom(record: TaskRecord): TaskProgress {
  return {
    status: ROW_STATUSES[record["status"] as number],
    attempt: record["attempt"],
    worker: record["worker"],
    startedAt: record["started_at"],
    endedAt: record["ended_at"],
    result: record["result"] ?? undefined,
    resultHash: record["result_hash"],
    errorCode: record["error_code"],
    errorMessage: record["error_message"],
    costMicros: record["cost_micros"],
    seq: record["seq"],
  } as TaskProgress;
}
