const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in at most two units: 850 ms, 4.2 s, 3 m 20 s, 2 h 5 m, 3 d 4 h. */
export function spanText(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return two(ms, MINUTE, "m", SECOND, "s");
  return ms < DAY ? two(ms, HOUR, "h", MINUTE, "m") : two(ms, DAY, "d", HOUR, "h");
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  return `${Math.floor(ms / large)} ${largeName} ${Math.floor((ms % large) / small)} ${smallName}`;
}

/** The clock that is looked at moves once a second. */
const NOW_MS = 1.5 * SECOND;

/** How long ago, or until when: one unit is enough. */
export function agoText(ms: number): string {
  if (Math.abs(ms) < NOW_MS) return "now";
  const text = coarse(Math.abs(ms));
  return ms < 0 ? `in ${text}` : `${text} ago`;
}

function coarse(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m`;
  return ms < DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} d`;
}
