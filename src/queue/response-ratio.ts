import { compareProducts } from "./exact-product.ts";

/**
 * The order of two response ratios, higher first: negative if a goes before b. A ratio is
 * (wait + estimate) / estimate, so wait / estimate orders the same, and products spare the division: two
 * quotients can round to the same double and still differ.
 */
export function compareRatios(
  aReadyAt: number,
  aEstimateMs: number,
  bReadyAt: number,
  bEstimateMs: number,
  now: number,
): number {
  return compareProducts(now - bReadyAt, aEstimateMs, now - aReadyAt, bEstimateMs);
}

/** More than three roundings can lift a quotient by. */
const ROUNDED_DOWN = 1 - 2 ** -50;

/**
 * The first moment after now at which what is behind may go ahead; infinity if it never will.
 *
 * Ratios grow linearly, the faster the smaller the estimate, so a pair changes its order at most once. With
 * s = now − behindReadyAt and d = behindReadyAt − aheadReadyAt the change comes when s × aheadEstimate exceeds
 * (s + d) × behindEstimate. The moment may be early, never late: whoever looks again then compares exactly.
 */
export function overtakenFrom(
  aheadReadyAt: number,
  aheadEstimateMs: number,
  behindReadyAt: number,
  behindEstimateMs: number,
  now: number,
): number {
  if (aheadEstimateMs <= behindEstimateMs) return Number.POSITIVE_INFINITY;
  const lead = (behindReadyAt - aheadReadyAt) * behindEstimateMs;
  const lasts = Math.floor((lead / (aheadEstimateMs - behindEstimateMs)) * ROUNDED_DOWN);
  return Math.max(now, behindReadyAt + lasts) + 1;
}
