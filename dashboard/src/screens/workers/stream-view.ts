import { useCallback, useEffect, useState } from "react";
import type { Attempts } from "../../api/attempts.ts";
import { useMoment } from "../../api/moment.ts";
import type { Size } from "../../parts/picture/picture.tsx";
import { AXIS_PX } from "../../parts/picture/time-axis.ts";
import { pannedTime, type TimeScale, zoomedTime } from "../../parts/picture/time-scale.ts";

/** How often what is live moves on. */
const MOVE_MS = 100;
const FIRST_SPAN_MS = 60_000;
const LONGEST_MS = 15 * 60_000;
/** So that the last mark of the axis is not cut off. */
const MARGIN_PX = 14;
const LABELS_PX = 150;
const NARROW_LABELS_PX = 96;
const NARROW_PX = 520;

interface Stream {
  readonly scale: TimeScale;
  readonly top: number;
  /** The server's time, as far as this browser can tell. */
  readonly now: number;
  /** `past`: as of an event, after which nothing comes. */
  readonly state: "live" | "paused" | "past";
  readonly setPaused: (isPaused: boolean) => void;
  /** The last minute, live. */
  readonly showLatest: () => void;
  readonly zoom: (factor: number, x?: number) => void;
  readonly pan: (byX: number, byY: number) => boolean;
}

/** Which time is looked at: the last while, which moves on by itself, or a piece of it that stands still. */
export function useStreamView(attempts: Attempts, size: Size, rowsPx: number): Stream {
  const isPast = useMoment() !== undefined;
  const [spanMs, setSpan] = useState(FIRST_SPAN_MS);
  /** Where it stands still; undefined: it is live. */
  const [until, setUntil] = useState<number>();
  const [scrolled, setScrolled] = useState(0);
  const now = useServerNow(attempts, isPast || until !== undefined);
  const left = size.width < NARROW_PX ? NARROW_LABELS_PX : LABELS_PX;
  const width = Math.max(1, size.width - left - MARGIN_PX);
  const to = until ?? now;
  const scale = { from: to - spanMs, to, left, width };
  const limits = [now - LONGEST_MS, now] as const;
  const mostTop = Math.max(0, rowsPx - (size.height - AXIS_PX));
  const top = Math.min(scrolled, mostTop);
  const show = ({ from, to: end }: TimeScale) => {
    setSpan(end - from);
    // Whoever comes back to the end follows it again.
    setUntil(end >= now - 1 ? undefined : end);
  };
  return {
    scale,
    top,
    now,
    state: isPast ? "past" : until === undefined ? "live" : "paused",
    setPaused: useCallback((isPaused) => setUntil(isPaused ? now : undefined), [now]),
    showLatest: () => {
      setSpan(FIRST_SPAN_MS);
      setUntil(undefined);
    },
    zoom: (factor, x) =>
      show(zoomedTime(scale, factor, until === undefined ? left + width : (x ?? left + width / 2), limits)),
    pan: (byX, byY) => {
      if (byX !== 0) show(pannedTime(scale, byX, limits));
      const next = Math.min(mostTop, Math.max(0, top - byY));
      setScrolled(next);
      return byX !== 0 || next !== top;
    },
  };
}

/** Goes on between two answers, by the clock of this browser. */
function useServerNow({ now, askedAt }: Attempts, isStill: boolean): number {
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    setPassed(0);
    if (isStill) return undefined;
    const timer = window.setInterval(() => setPassed(Math.max(0, Date.now() - askedAt)), MOVE_MS);
    return () => window.clearInterval(timer);
  }, [askedAt, isStill]);
  return now + passed;
}
