import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { StoreError } from "../contract.ts";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

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

export function throwIfClosed(closed: AbortSignal): void {
  if (closed.aborted) throw new StoreError("unavailable", "the store was closed");
}

export function messageOf(error: unknown): string {
  // A refused connection to several addresses has its messages inside.
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
