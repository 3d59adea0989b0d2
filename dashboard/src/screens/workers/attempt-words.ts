import type { Attempt } from "../../api/attempts.ts";
import { spanText } from "../../time/spans.ts";

/** What an attempt was, for whoever reads it. */
export function attemptName({ node, type, task }: Attempt): string {
  return task === null ? "other work" : (node ?? type);
}

/** How long it ran, or runs by now; that it began is heard a moment later. */
export function tookText({ started, ended, assigned }: Attempt, now: number): string {
  if (started === null) return ended === null ? `up to ${spanText(now - assigned)}` : "–";
  return spanText((ended ?? now) - started);
}
