import { useEffect, useRef, useState } from "react";
import type { MomentsAnswer } from "../../../src/protocol/api-schemas.ts";

export const SPEEDS = ["1", "10", "100", "max"] as const;
export type Speed = (typeof SPEEDS)[number];

const FRAME_MS = 50;
/** As fast as can be: all of it in so many frames, if answers come as fast. */
const MOST_FRAMES = 400;

interface Playing {
  readonly isPlaying: boolean;
  readonly toggle: () => void;
}

/** Lets the past go on by itself, in the time that it took or faster. */
export function usePlay(
  moments: MomentsAnswer | undefined,
  from: number | undefined,
  speed: Speed,
  go: (seq: number) => void,
): Playing {
  const [isPlaying, setPlaying] = useState(false);
  const place = useRef(from);
  place.current = from;
  const last = moments?.last.seq ?? 0;
  useEffect(() => {
    if (!isPlaying || !moments) return;
    const times = timesOf(moments);
    let seq = place.current === undefined || place.current >= last ? 0 : place.current;
    let clock = timeAt(times, seq);
    const timer = window.setInterval(() => {
      if (speed === "max") seq += Math.max(1, last / MOST_FRAMES);
      else {
        clock += FRAME_MS * Number(speed);
        seq = Math.max(seq, seqAt(times, clock));
      }
      go(Math.min(seq, last));
      if (seq >= last) setPlaying(false);
    }, FRAME_MS);
    return () => window.clearInterval(timer);
  }, [isPlaying, moments, last, speed, go]);
  return { isPlaying, toggle: () => setPlaying(!isPlaying) };
}

interface Timed {
  readonly seq: number;
  readonly ms: number;
}

function timesOf({ first, buckets }: MomentsAnswer): Timed[] {
  return [first, ...buckets].map(({ seq, at }) => ({ seq, ms: Date.parse(at) }));
}

/** Between two that are known, evenly. */
function timeAt(times: readonly Timed[], seq: number): number {
  return between(times, seq, "seq", "ms");
}

function seqAt(times: readonly Timed[], ms: number): number {
  return between(times, ms, "ms", "seq");
}

function between(times: readonly Timed[], value: number, by: keyof Timed, what: keyof Timed): number {
  const place = times.findIndex((one) => one[by] >= value);
  const [before, after] = [times[place - 1], times[place === -1 ? times.length - 1 : place]];
  if (!after) return 0;
  if (!before || place === -1 || after[by] === before[by]) return after[what];
  return before[what] + ((value - before[by]) / (after[by] - before[by])) * (after[what] - before[what]);
}
