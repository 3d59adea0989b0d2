import { randomInt } from "node:crypto";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The waits between tries that Standard Webhooks advises: a failure is final after three days. */
export const STANDARD_WAITS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** How much longer a wait may be, so that what failed together does not come back together. */
const JITTER_PERMILLE = 200;

/** When to try again after that many tries; undefined: that was the last. */
export function nextTryAt(tries: number, now: number, waitsMs: readonly number[]): number | undefined {
  const waitMs = waitsMs[tries - 1];
  return waitMs === undefined
    ? undefined
    : now + waitMs + Math.round((waitMs * randomInt(JITTER_PERMILLE + 1)) / 1000);
}
