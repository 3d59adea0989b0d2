import type { LogAnswer, RunAnswer, TaskAnswer, WhyAnswer } from "../protocol/api-schemas.ts";
import { backOffMs, pause } from "./back-off.ts";
import { type CallOptions, get, path } from "./calls.ts";
import type { Connection } from "./connection.ts";

export interface WaitOptions extends CallOptions {
  /** By default as long as it takes. */
  readonly timeoutMs?: number | undefined;
}

export type LogLine = LogAnswer["lines"][number];

/** Shorter than what proxies let a request take. */
const POLL_MS = 25_000;
/** Lines come in batches, a moment after they were printed. */
const LOG_PAUSE_MS = 500;
const LOG_LINES = 1000;
/** How much later than asked for somebody may be told that a task has not ended, for knowing why. */
const WHY_MS = 1_000;

export function hasEnded({ status }: Pick<TaskAnswer, "status">): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The task when it has ended, or as it is when the time is over. A server that is away is waited for too. */
export function waitForTask(connection: Connection, id: string, options: WaitOptions): Promise<TaskAnswer> {
  return waitFor<TaskAnswer>(connection, path`task/${id}`, hasEnded, options);
}

/** To follow what a task still is: where it runs or what it waits for, if the server says so at once. */
export async function whyNotEnded(
  connection: Connection,
  { id, worker_id }: Pick<TaskAnswer, "id" | "worker_id">,
): Promise<string> {
  const request = get(path`task/${id}/why`, { signal: AbortSignal.timeout(WHY_MS) });
  const why = await connection.send<WhyAnswer>(request, 0).catch(() => undefined);
  const [reason] = why?.waiting ?? [];
  return reason ? `: ${reason.text}` : worker_id ? ` on ${worker_id}` : "";
}

/** The run when it has ended, or as it is when the time is over. */
export function waitForRun(connection: Connection, id: string, options: WaitOptions): Promise<RunAnswer> {
  return waitFor<RunAnswer>(connection, path`runs/${id}`, ({ status }) => status !== "running", options);
}

async function waitFor<Answer>(
  connection: Connection,
  from: string,
  isOver: (answer: Answer) => boolean,
  { timeoutMs = Number.POSITIVE_INFINITY, signal }: WaitOptions,
): Promise<Answer> {
  const until = performance.now() + timeoutMs;
  // Who never got through is told so.
  let retryForMs: number | undefined;
  for (let early = 0; ; ) {
    const begun = performance.now();
    const waitMs = Math.max(0, Math.min(POLL_MS, Math.ceil(until - begun)));
    const request = get(from, { signal }, { wait: waitMs / 1000 });
    const answer = await connection.send<Answer>({ ...request, waitMs }, retryForMs);
    const now = performance.now();
    if (isOver(answer) || now >= until) return answer;
    retryForMs = until - now;
    // A server that is about to close answers at once, and would again.
    early = now - begun < waitMs / 2 ? early + 1 : 0;
    if (early > 0) await pause(Math.min(backOffMs(early), until - now), signal);
  }
}

/** What a task prints, as it prints it, until it has ended. */
export async function* followLog(
  connection: Connection,
  id: string,
  { after = -1, signal }: CallOptions & { readonly after?: number | undefined },
): AsyncGenerator<LogLine, void, undefined> {
  let last = after;
  let isOver = false;
  for (;;) {
    const request = get(path`task/${id}/log`, { signal }, { after: last, limit: LOG_LINES });
    const { lines } = await connection.send<LogAnswer>(request);
    for (const line of lines) {
      last = line.line;
      yield line;
    }
    if (lines.length === LOG_LINES) continue;
    if (isOver && lines.length === 0) return;
    isOver = hasEnded(await waitForTask(connection, id, { timeoutMs: LOG_PAUSE_MS, signal }));
    if (isOver) await pause(LOG_PAUSE_MS, signal);
  }
}
