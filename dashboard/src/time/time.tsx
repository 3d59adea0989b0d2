import { Kept, useKept } from "../parts/kept.ts";
import { useNow } from "./clock.ts";
import { agoText, spanText } from "./spans.ts";

export const TIME_MODES = ["relative", "local", "utc"] as const;
export type TimeMode = (typeof TIME_MODES)[number];

export const timeMode = new Kept<TimeMode>("times", TIME_MODES, "relative");

/** A moment as whoever looks likes to read it; the whole of it is in its title. */
export function Time({ at }: { readonly at: string }) {
  const mode = useKept(timeMode);
  return (
    <time className="time" dateTime={at} title={at}>
      {mode === "relative" ? <Ago at={Date.parse(at)} /> : absolute(at, mode)}
    </time>
  );
}

interface TookProps {
  readonly from: string;
  /** null: it goes on. */
  readonly to: string | null;
}

/** How long something took, or has so far. */
export function Took({ from, to }: TookProps) {
  const now = useNow();
  return spanText((to === null ? now : Date.parse(to)) - Date.parse(from));
}

/** The time of day, as whoever looks likes it. */
export function clockText(at: string): string {
  const text = absolute(at, timeMode.get() === "utc" ? "utc" : "local");
  return new Date(at).toDateString() === new Date().toDateString() ? text.slice(11) : text;
}

function Ago({ at }: { readonly at: number }) {
  return agoText(useNow() - at);
}

function absolute(at: string, mode: Exclude<TimeMode, "relative">): string {
  if (mode === "utc") return `${at.slice(0, 10)} ${at.slice(11, 23)}Z`;
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}
