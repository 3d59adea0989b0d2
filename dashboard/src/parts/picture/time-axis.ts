import type { TimeMode } from "../../time/time.tsx";
import type { Palette } from "./palette.ts";
import type { Pen } from "./pen.ts";
import { type TimeScale, ticksOf, xOf } from "./time-scale.ts";

export const AXIS_PX = 22;
const APART_PX = 84;
const LETTERS_PX = 11;

interface AxisOptions {
  readonly mode: TimeMode;
  /** Relative times count from here. */
  readonly origin: number;
  /** How far down the lines go. */
  readonly height: number;
}

/** Marks at moments that people count in, over what is drawn below. */
export function paintTimeAxis(
  pen: Pen,
  scale: TimeScale,
  palette: Palette,
  { mode, origin, height }: AxisOptions,
): void {
  const counted = mode === "relative" ? origin : mode === "utc" ? 0 : localMidnight(origin);
  const { stepMs, at } = ticksOf(scale, APART_PX, counted);
  const marks = at.map((moment) => Math.round(xOf(scale, moment)) + 0.5);
  pen.lines(
    marks.flatMap((x) => [x, AXIS_PX, x, height]),
    { colour: palette.line },
  );
  for (const [place, moment] of at.entries())
    pen.text(marks[place] as number, AXIS_PX / 2, tickText(moment, stepMs, mode, origin), {
      colour: palette.quiet,
      size: LETTERS_PX,
      align: "center",
    });
  pen.lines([scale.left, AXIS_PX + 0.5, scale.left + scale.width, AXIS_PX + 0.5], { colour: palette.line });
}

function localMidnight(at: number): number {
  const day = new Date(at);
  day.setHours(0, 0, 0, 0);
  return day.getTime();
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const;

/** As exact as the distance between marks asks for. */
function tickText(at: number, stepMs: number, mode: TimeMode, origin: number): string {
  if (mode !== "relative") return clockText(at, stepMs, mode === "utc");
  const since = at - origin;
  if (since === 0) return "0";
  const sign = since < 0 ? "−" : "+";
  let rest = Math.abs(since);
  const parts = UNITS.flatMap(([name, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count > 0 ? [`${count}${name}`] : [];
  });
  return `${sign}${parts.slice(0, 2).join(" ")}`;
}

function clockText(at: number, stepMs: number, isUtc: boolean): string {
  const date = new Date(at);
  const local = new Date(at - date.getTimezoneOffset() * 60_000);
  const text = (isUtc ? date : local).toISOString();
  if (stepMs >= 86_400_000) return text.slice(5, 10);
  return text.slice(11, stepMs < 1000 ? 23 : stepMs < 60_000 ? 19 : 16);
}
