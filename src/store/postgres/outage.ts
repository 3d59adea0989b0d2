import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { StoreError } from "../contract.ts";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const NOTICED_AFTER_MS = 1_000;
const REMIND_AFTER_MS = 60_000;

/**
 * What may pass by itself, by class or code: connections (08), resources (53), and the server being stopped, started,
 * or a standby; and what only hit this transaction: cancelled, idle for too long, deadlock, serialisation.
 */
const PASSING: readonly string[] = ["08", "53", "57P", "25006", "25P03", "57014", "40001", "40P01"];

/**
 * Whether an error says nothing about the statement: the connection broke, or the server is going down or coming up.
 * What PostgreSQL answers to a statement has a severity; anything else comes from the way there.
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof StoreError) return false;
  if (!(error instanceof pg.DatabaseError)) return true;
  const { code = "" } = error;
  return PASSING.some((begin) => code.startsWith(begin));
}

/** Classes of errors about the values of a statement: bad data (22), broken constraints (23), and limits of PostgreSQL (54). */
const CONTENT: readonly string[] = ["22", "23", "54"];

/** Returns the error of a statement that PostgreSQL refuses because of its values. It names no value. */
export function refusalOf(error: unknown): StoreError | undefined {
  if (!(error instanceof pg.DatabaseError) || !CONTENT.some((begin) => error.code?.startsWith(begin)))
    return undefined;
  const where = error.constraint === undefined ? "" : `, constraint ${error.constraint}`;
  return new StoreError("refused", `PostgreSQL refused it with SQLSTATE ${error.code}${where}`, error);
}

/** Waits that grow, ended by the signal. */
export class BackOff {
  #pauseMs = FIRST_PAUSE_MS;
  readonly #closed: AbortSignal;

  constructor(closed: AbortSignal) {
    this.#closed = closed;
  }

  async wait(): Promise<void> {
    throwIfClosed(this.#closed);
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    await sleep(pauseMs, undefined, { signal: this.#closed }).catch(() => throwIfClosed(this.#closed));
  }
}

export interface OutageOptions {
  /** Told when an outage has lasted a moment, or a commit waits for its end, and at growing distances while it lasts. */
  readonly onTrouble: (message: string) => void;
  /** Told when it is over, if it was told of. */
  readonly onRecovery: (message: string) => void;
  readonly closed: AbortSignal;
}

/** One outage is one, however many wait for its end. What passes within a moment is none that anybody must know of. */
export class Outage {
  readonly #options: OutageOptions;
  readonly #failing = new Set<unknown>();
  #sinceMs = 0;
  #nextMs = 0;
  #told = 0;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  /** A part failed that will try again; `isUrgent`: somebody has waited in vain, or waits for a commit. */
  failed(part: unknown, message: string, isUrgent: boolean): void {
    const now = performance.now();
    if (this.#failing.size === 0) {
      this.#sinceMs = now;
      this.#nextMs = now + NOTICED_AFTER_MS;
      this.#told = 0;
    }
    this.#failing.add(part);
    const isDue = now >= this.#nextMs || (isUrgent && this.#told === 0);
    if (!isDue || this.#options.closed.aborted) return;
    const rest = this.#told === 0 ? "trying again until it is there" : `not there for ${this.#lasted()}`;
    this.#nextMs = now + REMIND_AFTER_MS * 2 ** this.#told++;
    this.#options.onTrouble(`PostgreSQL: ${message}; ${rest}`);
  }

  passed(part: unknown): void {
    if (!this.#failing.delete(part) || this.#failing.size > 0 || this.#told === 0) return;
    this.#options.onRecovery(`PostgreSQL is there again, after ${this.#lasted()}`);
  }

  #lasted(): string {
    return `${Math.ceil((performance.now() - this.#sinceMs) / 1000)} s`;
  }
}

export function throwIfClosed(closed: AbortSignal): void {
  if (closed.aborted) throw new StoreError("unavailable", "the store was closed");
}

export function messageOf(error: unknown): string {
  // A refused connection to several addresses has its messages inside.
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
