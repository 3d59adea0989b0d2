import { hash32 } from "../../core/index.ts";

// What happens to a processor that is a thread, and that neither its program nor its seed decides. A recording is the list of
// these entries for each processor. Most are steps: a number for the kind, the time in microseconds, then what the table
// below says. Within steps there are decisions, each a kind and a number, and at the end of a slice what came of it.

/** Timers were due. */
export const TIMERS = 1;
/** A letter was read: which kind, and of which record, by its home and serial. */
export const LETTER = 2;
/** Mail about channels was read: from whom, and its serial. */
export const MAIL = 3;
/** An own record was reported: its serial and state. */
export const REPORT = 4;
/** The home of a record has told something: home, serial, and what. */
export const COMMAND = 5;
/** A fiber was stolen: from whom, and the serial of its record. */
export const STOLE = 6;
/** A slice ran: of what was just stolen, or else of what was next here. */
export const RUN = 7;
/** Nothing could go on, and those that had run out were told so, or it was a deadlock. */
export const STALLED = 8;
/** A promise that a fiber waits for has settled: its number. */
export const OUTSIDE = 9;
/** The module of a stolen fiber was imported: home and serial of its record. */
export const LOADED = 10;
/** Something was done to a root from outside: its number. */
export const LAUNCH = 11;
export const CANCEL = 12;
export const RECHARGE = 13;
/** No thread could go on, and those that had run out here were told so; or there were none, and it was a deadlock. */
export const FAILED_EXHAUSTED = 14;
export const DEADLOCKED = 15;

/**
 * Decisions: whether the window of the deque had room, whether something was left in it, whether a stolen record had
 * commands, and whether its module was there.
 */
export const ROOM = 20;
export const POPPED = 21;
export const COMMANDED = 22;
export const IMPORTED = 24;
/** At the end of a slice: fiber, ops, state, and a digest of how it ended. */
export const RAN = 23;

/** How many numbers follow the kind and the time of a step. */
export const LENGTHS: Readonly<Record<number, number>> = {
  [TIMERS]: 0,
  [LETTER]: 3,
  [MAIL]: 2,
  [REPORT]: 2,
  [COMMAND]: 3,
  [STOLE]: 2,
  [RUN]: 1,
  [STALLED]: 0,
  [OUTSIDE]: 1,
  [LOADED]: 2,
  [LAUNCH]: 1,
  [CANCEL]: 1,
  [RECHARGE]: 1,
  [FAILED_EXHAUSTED]: 0,
  [DEADLOCKED]: 0,
};

/** What a thread that is recorded, or replayed, asks instead of looking for itself. */
export interface Chance {
  /** What is the case: found out and noted, or as it was noted. */
  decide(kind: number, actual: () => number): number;
  /** Does something that has come from outside: now, or when it is its turn. */
  arrive(kind: number, a: number, b: number, act: () => void): void;
  /** Told which record describes a fiber now. */
  laid(record: number, serial: number): void;
}

/** A number for how a fiber ended. What cannot be written as text is only known by its kind. */
export function digestOf(rank: number, value: unknown): number {
  return hash32(`${rank} ${textOf(value)}`);
}

function textOf(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value);
  } catch {
    return typeof value;
  }
}
