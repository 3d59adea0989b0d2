import type { Account, Budget } from "../budget.ts";
import { RECORD_WORDS } from "./memory.ts";

// A record describes a fiber that has not started: which function with which arguments, what it has and may do. It belongs to
// the processor where it was spawned, its home. Whoever steals it writes there what came of it.

export const STATE = 0;
/** Who stole it, plus one. */
export const THIEF = 1;
/** The next in the list of reports to its home, and whether it is in that list. */
export const NEXT_REPORT = 2;
export const IS_REPORTED = 3;
/** The next in the list of those for whom their thief has commands, and these. */
export const NEXT_COMMAND = 4;
export const COMMANDS = 5;
export const FUNCTION = 6;
export const DEPTH = 7;
/** How it ended; or which component it lacks. */
export const RANK = 8;
/** Whether its arguments are to be asked for, since they are not in the record. */
export const ASK = 9;
/** Numbers of capabilities, plus one. */
export const CAPABILITIES = 10;
export const OWN_CAPABILITIES = 13;
export const MOST_OWN_CAPABILITIES = 3;
/** What its home has given; and, below, what its home gives now, or its thief gives back. */
export const GIVEN = 16;
/** Which use of the record this is: a letter may come too late. */
export const SERIAL = 23;
export const MOVED = 24;
/** Arguments, then the result. The two words before are the fiber's id. */
export const PAYLOAD = 34;
export const PAYLOAD_END: number = RECORD_WORDS;

/** States of a record. */
export const FREE = 0;
export const OPEN = 1;
export const TAKEN = 2;
export const ASKS = 3;
export const LACKS = 4;
export const ENDED = 5;
/** It has ended, and the result is on its way as a letter. */
export const POSTED = 6;

/** Commands of a home to a thief. */
export const CANCEL = 1;
export const RECHARGE = 2;
export const FAIL = 4;
export const DROP = 8;

export function writeBudget(words: Int32Array, floats: Float64Array, at: number, budget: Budget): void {
  floats[at >> 1] = budget.ops;
  floats[(at >> 1) + 1] = budget.memory;
  words[at + 4] = budget.spawnCount;
  words[at + 5] = budget.channelOps;
  words[at + 6] = budget.syscalls;
}

export function readBudgetInto(words: Int32Array, floats: Float64Array, at: number, account: Account): void {
  account.ops = floats[at >> 1] as number;
  account.memory = floats[(at >> 1) + 1] as number;
  account.spawnCount = (words[at + 4] as number) >>> 0;
  account.channelOps = (words[at + 5] as number) >>> 0;
  account.syscalls = (words[at + 6] as number) >>> 0;
}
