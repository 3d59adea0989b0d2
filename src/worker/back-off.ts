import { randomInt } from "node:crypto";

const FIRST_MS = 200;
const LAST_MS = 10_000;

/**
 * How long to wait before the next try to connect: from 0.2 s on, doubling up to 10 s. Somewhere in the upper half of that, so that
 * a thousand workers do not all come back at once to a server that has just restarted.
 */
export function backOffMs(failures: number): number {
  const whole = Math.min(FIRST_MS * 2 ** failures, LAST_MS);
  return randomInt(whole / 2, whole + 1);
}

/** A connection that held this long was a good one: the next break begins at the shortest wait again. */
export const STEADY_MS: number = LAST_MS;
