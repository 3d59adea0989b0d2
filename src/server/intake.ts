import type { Answer, Driver } from "../driver/index.ts";
import { type Inbox, type InboxRow, isAway, type RefusedRow } from "../store/index.ts";
import type { TaskSubmission } from "./api.ts";
import { readInboxBody } from "./http/inbox-body.ts";
import { refusalOf } from "./refusals.ts";
import { stimulusOf } from "./stimuli.ts";

export interface IntakeOptions {
  readonly inbox: Inbox;
  readonly driver: Driver;
  readonly warn: (message: string) => void;
  /** Told from time to time how many rows there are. */
  readonly onCounted: (waiting: number, refused: number) => void;
}

const BATCH_ROWS = 2_000;
const BATCH_BYTES = 8 * 1024 * 1024;
/** While rows come, more of them are looked for at once; when none do, less and less often. */
const EAGER_MS = 5;
const IDLE_MS = 50;
const TROUBLED_MS = 1_000;
/** What stands against an agent may be taken away before its time. */
const MAX_HOLD_MS = 5_000;
const COUNT_EVERY_MS = 10_000;

interface Read {
  readonly row: InboxRow;
  readonly submission: TaskSubmission;
}

/**
 * Takes in what was submitted inside of other transactions, as if it came by HTTP, and drops the rows once their
 * tasks are committed. A row has the id of its task from the beginning: where a crash, or another server's, left the
 * row behind, its task is there and the row is only dropped.
 *
 * Rows are looked for, not told of: a NOTIFY in the submitter's transaction would have all such transactions commit
 * one after the other.
 */
export class Intake implements AsyncDisposable {
  readonly #inbox: Inbox;
  readonly #driver: Driver;
  readonly #warn: (message: string) => void;
  readonly #onCounted: IntakeOptions["onCounted"];
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;
  /** Agents whose submissions are refused for now, and until when; so that they hold up nobody else's. */
  readonly #held = new Map<
    string,
    { readonly zone: string; readonly agent: string; readonly untilMs: number }
  >();
  #countAtMs = 0;

  constructor({ inbox, driver, warn, onCounted }: IntakeOptions) {
    this.#inbox = inbox;
    this.#driver = driver;
    this.#warn = warn;
    this.#onCounted = onCounted;
    this.#done = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    let waitMs = 0;
    let isTroubled = false;
    while (!this.#stopping.signal.aborted) {
      try {
        const pauseMs = await this.#takeIn();
        waitMs = pauseMs ?? Math.min(Math.max(waitMs * 2, EAGER_MS), IDLE_MS);
        await this.#count();
        isTroubled = false;
      } catch (error) {
        // Whoever runs the driver is told when it cannot go on, and disposes of us.
        if (!isTroubled && !isAway(error) && !this.#stopping.signal.aborted)
          this.#warn(`the inbox cannot be taken in: ${(error as Error).message}; trying again`);
        isTroubled = true;
        waitMs = TROUBLED_MS;
      }
      await this.#pause(waitMs);
    }
  }

  /** How long to wait before the next look; undefined: there was nothing to take in. */
  async #takeIn(): Promise<number | undefined> {
    const rows = await this.#inbox.waiting(this.#heldNow(), BATCH_ROWS, BATCH_BYTES);
    if (rows.length === 0) return undefined;
    const taken = rows.filter(({ isTaken }) => isTaken).map(({ number }) => number);
    const refused: RefusedRow[] = [];
    const read: Read[] = [];
    for (const row of rows) {
      if (row.isTaken) continue;
      const body = readInboxBody(row.body);
      if ("error" in body) refused.push({ number: row.number, error: body.error });
      else read.push({ row, submission: body.submission });
    }
    const answers = await this.#driver.submitAll(
      read.map(({ row, submission }) => stimulusOf(row, submission, row.taskId)),
    );
    let pauseMs = EAGER_MS;
    for (const [at, one] of read.entries()) {
      const verdict = verdictOf(one, answers[at] as Answer, this.#driver.now());
      if (verdict === "taken") taken.push(one.row.number);
      else if (typeof verdict === "string") refused.push({ number: one.row.number, error: verdict });
      else if (verdict.isOfAgent) this.#hold(one.row, verdict.retryAfterMs);
      else pauseMs = verdict.retryAfterMs;
    }
    await this.#inbox.settle(taken, refused);
    this.#tell(rows, refused);
    return pauseMs;
  }

  #hold({ zone, agent }: InboxRow, forMs: number): void {
    const untilMs = performance.now() + Math.min(forMs, MAX_HOLD_MS);
    this.#held.set(JSON.stringify([zone, agent]), { zone, agent, untilMs });
  }

  #heldNow(): { readonly zone: string; readonly agent: string }[] {
    const nowMs = performance.now();
    for (const [key, { untilMs }] of this.#held) if (untilMs <= nowMs) this.#held.delete(key);
    return [...this.#held.values()];
  }

  #tell(rows: readonly InboxRow[], refused: readonly RefusedRow[]): void {
    if (refused.length > 0) this.#countAtMs = 0;
    // Why names fields of the payload, which are not for the log.
    for (const { number } of refused) {
      const id = rows.find((row) => row.number === number)?.taskId;
      this.#warn(
        `row ${number} of the inbox (task ${id}) cannot be taken in and is kept there; its column error says why`,
      );
    }
  }

  async #count(): Promise<void> {
    if (performance.now() < this.#countAtMs) return;
    const { waiting, refused } = await this.#inbox.levels();
    this.#onCounted(waiting, refused);
    this.#countAtMs = performance.now() + COUNT_EVERY_MS;
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(end, ms);
      function end(): void {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      }
      signal.addEventListener("abort", end);
    });
  }
}

/** What may pass is tried again: for the agent alone, or where it concerns everybody, for all. */
type Verdict = "taken" | string | { readonly isOfAgent: boolean; readonly retryAfterMs: number };

const OF_AGENT: ReadonlySet<string> = new Set(["fair-share", "rate-limit"]);

function verdictOf({ submission }: Read, answer: Answer, now: number): Verdict {
  if (answer.accepted) {
    if (!("repeats" in answer) || answer.repeats.bodyHash === submission.bodyHash) return "taken";
    return `idempotency_key came with another request before; task ${answer.repeats.taskId} has it`;
  }
  // It is there, and has not ended yet.
  if (answer.code === "duplicate-task") return "taken";
  const { code, message, retryAfterMs } = refusalOf(answer, now);
  if (retryAfterMs === undefined) return message;
  const { whose } = answer.excess ?? {};
  return { isOfAgent: OF_AGENT.has(code) || whose === "agent" || whose === "zone", retryAfterMs };
}
