/** How fast a worker is with what it has, since it last had nothing. */
export interface Pace {
  readonly since: number;
  /** How many attempts have ended since then, and when the last did. */
  readonly ended: number;
  readonly movedAt: number;
}

/** After so many, what lies further back counts for half: a worker may be busy for days. */
const MANY_ENDED = 256;
/** Fewer say nothing about those that come. */
const FEW_ENDED = 4;
/** Sums of it stay exact, however long a queue is. */
const MAX_PACE_MICROS = 60_000_000;

export function paceAfter({ since, ended }: Pace, now: number): Pace {
  if (ended + 1 < MANY_ENDED) return { since, ended: ended + 1, movedAt: now };
  return { since: now - Math.floor((now - since) / 2), ended: MANY_ENDED / 2, movedAt: now };
}

/** From one end to the next, in microseconds; 0: not known yet. */
export function paceMicros({ since, ended, movedAt }: Pace): number {
  if (ended < FEW_ENDED) return 0;
  return Math.min(Math.floor((1000 * (movedAt - since)) / ended), MAX_PACE_MICROS);
}
