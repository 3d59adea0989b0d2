/** A piece of time, as wide as so many pixels. Milliseconds since 1970, or since anything else. */
export interface TimeScale {
  readonly from: number;
  readonly to: number;
  /** Where it begins, and how wide it is. */
  readonly left: number;
  readonly width: number;
}

/** What is shorter cannot be looked at: a millisecond is the least that is known. */
const LEAST_MS = 5;

export function xOf({ from, to, left, width }: TimeScale, at: number): number {
  return left + ((at - from) / (to - from)) * width;
}

export function timeAt({ from, to, left, width }: TimeScale, x: number): number {
  return from + ((x - left) / width) * (to - from);
}

/** What is at x stays there. Within the limits as far as there are any. */
export function zoomedTime(
  scale: TimeScale,
  factor: number,
  x: number,
  limits: readonly [from: number, to: number],
): TimeScale {
  const { from, to } = scale;
  const span = Math.min(Math.max((to - from) / factor, LEAST_MS), Math.max(LEAST_MS, limits[1] - limits[0]));
  const share = (x - scale.left) / scale.width;
  const start = timeAt(scale, x) - share * span;
  return within({ ...scale, from: start, to: start + span }, limits);
}

export function pannedTime(
  scale: TimeScale,
  byX: number,
  limits: readonly [from: number, to: number],
): TimeScale {
  const by = (byX / scale.width) * (scale.to - scale.from);
  return within({ ...scale, from: scale.from - by, to: scale.to - by }, limits);
}

function within(scale: TimeScale, [first, last]: readonly [number, number]): TimeScale {
  const span = scale.to - scale.from;
  const from = Math.min(Math.max(scale.from, first), Math.max(first, last - span));
  return { ...scale, from, to: from + span };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Steps that people count in. */
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365, 1000, 10_000].map((count) => count * DAY),
];

/** Moments for the marks of an axis, at least so many pixels apart, counted from an origin; and their distance. */
export function ticksOf(
  { from, to, width }: TimeScale,
  apartPx: number,
  origin: number,
): { readonly stepMs: number; readonly at: readonly number[] } {
  const leastMs = ((to - from) / Math.max(1, width)) * apartPx;
  const stepMs = STEPS.find((step) => step >= leastMs) ?? (STEPS.at(-1) as number);
  const at: number[] = [];
  for (let next = origin + Math.ceil((from - origin) / stepMs) * stepMs; next <= to; next += stepMs)
    at.push(next);
  return { stepMs, at };
}
