import { type RunModel, ranMsOf, readyAtOf } from "./model.ts";
import { estimateMsOf, typeOf } from "./shape.ts";
import { statusOf } from "./standing.ts";

/** All that is known of a node here, for files. */
export interface NodeRecord {
  readonly node: string;
  readonly state: string;
  readonly task_type: string;
  readonly executor: string;
  readonly attempts: number;
  readonly worker: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly waited_ms: number | null;
  readonly ran_ms: number | null;
  readonly estimate_ms: number;
  readonly planned_start: string | null;
  readonly planned_end: string | null;
  readonly holds_up_the_end: boolean;
  readonly result_bytes: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly needs: readonly string[];
}

export function* nodeRecords(model: RunModel): Generator<NodeRecord> {
  const { shape, standing, submittedAt } = model;
  const instant = (at = -1) => (at < 0 ? null : new Date(submittedAt + at).toISOString());
  for (let node = 0; node < shape.size; node++) {
    const started = standing.started[node] as number;
    const ended = standing.ended[node] as number;
    const readyAt = readyAtOf(model, node);
    const error = standing.errors.get(node);
    yield {
      node: shape.ids[node] as string,
      state: statusOf(standing, node),
      task_type: typeOf(shape, node),
      executor: shape.kinds[shape.kind[node] ?? -1]?.executor ?? "",
      attempts: standing.attempt[node] as number,
      worker: standing.workers[standing.worker[node] ?? -1] ?? null,
      started_at: instant(started),
      ended_at: instant(ended),
      waited_ms: readyAt === undefined || started < 0 ? null : Math.max(0, started - readyAt),
      ran_ms: ended < 0 ? null : (ranMsOf(model, node, ended) ?? null),
      estimate_ms: estimateMsOf(shape, node),
      planned_start: instant(model.plannedStart[node]),
      planned_end: instant(model.plannedEnd[node]),
      holds_up_the_end: model.isCritical[node] === 1,
      result_bytes: standing.bytes[node] as number,
      error_code: error?.code ?? null,
      error_message: error?.message ?? null,
      needs: Array.from(shape.needs.of(node), (need) => shape.ids[need] as string),
    };
  }
}

export function ndjsonOf(records: Iterable<object>): string {
  return Array.from(records, (record) => `${JSON.stringify(record)}\n`).join("");
}

/** A table for spreadsheets, as RFC 4180 has it. */
export function csvOf(records: Iterable<NodeRecord>): string {
  const rows = Array.from(records, (record) => Object.values(record).map(cell).join(","));
  return [COLUMNS.join(","), ...rows, ""].join("\r\n");
}

const COLUMNS = [
  "node",
  "state",
  "task_type",
  "executor",
  "attempts",
  "worker",
  "started_at",
  "ended_at",
  "waited_ms",
  "ran_ms",
  "estimate_ms",
  "planned_start",
  "planned_end",
  "holds_up_the_end",
  "result_bytes",
  "error_code",
  "error_message",
  "needs",
] as const satisfies readonly (keyof NodeRecord)[];

/** A text that a spreadsheet would compute begins with an apostrophe, which spreadsheets do not show. */
function cell(value: unknown): string {
  if (value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = Array.isArray(value) ? value.join(" ") : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
