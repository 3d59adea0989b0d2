import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { StoreError } from "../contract.ts";
import { type Verdict, verdictOn } from "./sqlstates.ts";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
const NOTICED_AFTER_MS = 1_000;
const REMIND_AFTER_MS = 60_000;
/** Time, in ms, within which a new outage counts as following the last one. */
const FLAPPING_MS = 60_000;

/** Returns what to do about an error. Errors that PostgreSQL did not send come from the connection to it, and can pass. */
export function verdictOf(error: unknown): Verdict {
  if (error instanceof pg.DatabaseError && error.code !== undefined) return verdictOn(error.code);
  return "retry";
}

/**
 * Whether the same statement may work later. A server that may not write now does not lead, so it can wait as well, for
 * the primary to come back or for its rights.
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof StoreError) return false;
  const verdict = verdictOf(error);
  return verdict === "retry" || verdict === "step down";
}

/** Returns the error of a statement that PostgreSQL refuses because of its content. It names no value. */
export function refusalOf(error: unknown): StoreError | undefined {
  if (verdictOf(error) !== "refuse") return undefined;
  const { code, constraint } = error as pg.DatabaseError;
  const where = constraint === undefined ? "" : `, constraint ${constraint}`;
  return new StoreError("refused", `PostgreSQL refused it with SQLSTATE ${code}${where}`, error);
}

/** Waits that grow until `reset`, and end early with an error when the signal aborts. Calls during a wait share it. */
export class BackOff {
  #waiting: Promise<void> | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  readonly #closed: AbortSignal;

  constructor(closed: AbortSignal) {
    this.#closed = closed;
  }

  reset(): void {
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  wait(): Promise<void> {
    this.#waiting ??= this.#wait().finally(() => {
      this.#waiting = undefined;
    });
    return this.#waiting;
  }

  async #wait(): Promise<void> {
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

/**
 * Reports an outage once, however many parts of the store wait for its end: when it has lasted a moment, at growing
 * intervals while it lasts, and when it is over. If outages follow one another within a minute, each is reported only
 * after it has lasted twice as long as the last reported one had to, so that a database that fails and recovers again and
 * again does not fill the log.
 */
export class Outage {
  readonly #options: OutageOptions;
  readonly #failing = new Set<unknown>();
  #sinceMs = 0;
  #overMs = Number.NEGATIVE_INFINITY;
  #nextMs = 0;
  /** Number of lines about this outage. */
  #told = 0;
  /** Number of reported outages that followed one another within a minute. */
  #flaps = 0;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  /** Notes that a part failed and will try again. `isUrgent`: a caller has waited in vain, or a commit waits. */
  failed(part: unknown, message: string, isUrgent: boolean): void {
    const now = performance.now();
    if (this.#failing.size === 0) this.#begin(now);
    this.#failing.add(part);
    const isDue = now >= this.#nextMs || (isUrgent && this.#told === 0 && this.#flaps === 0);
    if (!isDue || this.#options.closed.aborted) return;
    const rest = this.#told === 0 ? "trying again until it is there" : `not there for ${this.#lasted()}`;
    this.#nextMs = now + REMIND_AFTER_MS * 2 ** this.#told++;
    this.#options.onTrouble(`PostgreSQL: ${message}; ${rest}`);
  }

  passed(part: unknown): void {
    if (!this.#failing.delete(part) || this.#failing.size > 0) return;
    this.#overMs = performance.now();
    if (this.#told === 0) return;
    this.#options.onRecovery(`PostgreSQL is there again, after ${this.#lasted()}`);
  }

  #begin(now: number): void {
    if (now - this.#overMs > FLAPPING_MS) this.#flaps = 0;
    else if (this.#told > 0) this.#flaps++;
    this.#sinceMs = now;
    this.#told = 0;
    this.#nextMs = now + Math.min(NOTICED_AFTER_MS * 2 ** this.#flaps, REMIND_AFTER_MS);
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
