import type { ApiKeyRow, FoundTasks, KeyedTask, LogLine, RunRow, TaskLine } from "../rows.ts";

export interface KeyRecord {
  readonly zone: string;
  readonly agent: string;
  readonly key: string;
  readonly task_id: string;
  readonly body_hash: string;
}

export interface RunRecord {
  readonly id: string;
  readonly zone: string;
  readonly agent: string;
  readonly name: string;
  readonly nodes: number;
  readonly submitted_at: number;
  readonly submitted_seq: number;
  readonly outcome: RunRow["outcome"];
  readonly ended_at: number;
}

export interface LogRecord {
  readonly task_id: string;
  readonly line: number;
  readonly attempt: number;
  readonly at: number;
  readonly stream: LogLine["stream"];
  readonly text: string;
}

export interface ApiKeyRecord {
  readonly id: string;
  readonly name: string;
  readonly hmac: string;
  readonly scopes: readonly string[];
  readonly zones: readonly string[];
  readonly agents: readonly string[];
  readonly created_at: number;
  readonly expires_at: number;
  readonly revoked_at: number;
  readonly key_id: string;
  readonly handed_to: string;
}

export function keyedFrom({ task_id: taskId, body_hash: bodyHash, ...key }: KeyRecord): KeyedTask {
  return { ...key, taskId, bodyHash };
}

export function runFrom(record: RunRecord): RunRow {
  const { submitted_at: submittedAt, submitted_seq: submittedSeq, ended_at: endedAt, ...rest } = record;
  return { ...rest, submittedAt, submittedSeq, endedAt };
}

export function logFrom({ task_id: taskId, ...rest }: LogRecord): LogLine {
  return { taskId, ...rest };
}

export function apiKeyFrom(record: ApiKeyRecord): ApiKeyRow {
  const { created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt, ...named } = record;
  const { key_id: keyId, handed_to: handedTo, ...rest } = named;
  return { ...rest, createdAt, expiresAt, revokedAt, keyId, handedTo };
}

/** Beside each line that was found, or alone where none was: how many fit, and how far was looked. */
export interface FoundRecord {
  readonly id: string | null;
  readonly fitting_count: number;
  readonly goes_on: boolean;
  readonly edge_seq: number | null;
  readonly edge_id: string | null;
}

export function foundFrom<Found extends FoundRecord>(
  records: readonly Found[],
  lineOf: (record: Found) => TaskLine,
): FoundTasks {
  const [first] = records;
  const { edge_seq: submittedSeq = null, edge_id: id = null } = first ?? {};
  const goesOn = first?.goes_on === true && submittedSeq !== null && id !== null;
  return {
    lines: records.filter((record) => record.id !== null).map(lineOf),
    fitting: first?.fitting_count ?? 0,
    lookedTo: goesOn ? { submittedSeq, id } : undefined,
  };
}
