import type { AttemptsAnswer } from "../../../src/protocol/api-schemas.ts";

export type AttemptOutcome = AttemptsAnswer["attempts"]["outcome"][number];

/** An attempt on a worker. Times are milliseconds since 1970, as the server has them. */
export interface Attempt {
  readonly key: string;
  readonly worker: string;
  /** Its slot; -1: it waits for one, or never got one. */
  readonly lane: number;
  /** Null: another agent's. */
  readonly task: string | null;
  readonly node: string | null;
  readonly attempt: number;
  /** "": another agent's. */
  readonly type: string;
  readonly assigned: number;
  readonly started: number | null;
  readonly ended: number | null;
  readonly outcome: AttemptOutcome;
  readonly transfers: readonly Transfer[];
}

export interface Transfer {
  readonly from: string;
  readonly began: number;
  readonly tookMs: number;
}

/** What is known of them, oldest first. */
export interface Attempts {
  readonly now: number;
  /** What the clock of this browser said then. */
  readonly askedAt: number;
  /** Nothing that ended later is missing. */
  readonly from: number;
  readonly rows: readonly Attempt[];
}

const KEPT_MS = 15 * 60_000;
const MOST_KEPT = 50_000;

/** What was known with what was told now: all that has not ended is told each time. */
export function merged(known: Attempts | undefined, answer: AttemptsAnswer, askedAt: number): Attempts {
  const { now_ms: now, from_ms: from } = answer;
  const isWhole = known !== undefined && from <= known.now;
  const rows = new Map<string, Attempt>();
  for (const row of isWhole ? known.rows : [])
    if (row.ended !== null && row.ended >= now - KEPT_MS) rows.set(row.key, row);
  for (const row of rowsOf(answer)) rows.set(row.key, row);
  const kept = [...rows.values()].sort((a, b) => a.assigned - b.assigned).slice(-MOST_KEPT);
  return { now, askedAt, from: isWhole ? Math.max(known.from, now - KEPT_MS) : from, rows: kept };
}

function rowsOf({ workers, types, attempts, transfers }: AttemptsAnswer): Attempt[] {
  const brought = new Map<number, Transfer[]>();
  for (const [at, row] of transfers.attempt.entries()) {
    const one = {
      from: workers[transfers.from[at] as number] as string,
      began: transfers.began_ms[at] as number,
      tookMs: transfers.took_ms[at] as number,
    };
    brought.set(row, [...(brought.get(row) ?? []), one]);
  }
  return attempts.task.map((task, at) => {
    const worker = workers[attempts.worker[at] as number] as string;
    const [attempt, assigned] = [attempts.attempt[at] as number, attempts.assigned_ms[at] as number];
    const lane = attempts.lane[at] as number;
    return {
      key: task === null ? `${worker} ${lane} ${assigned}` : `${task} ${attempt}`,
      worker,
      lane,
      task,
      node: attempts.node[at] ?? null,
      attempt,
      type: types[attempts.type[at] as number] ?? "",
      assigned,
      started: attempts.started_ms[at] ?? null,
      ended: attempts.ended_ms[at] ?? null,
      outcome: attempts.outcome[at] as AttemptOutcome,
      transfers: brought.get(at) ?? [],
    };
  });
}
