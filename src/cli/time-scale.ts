import type { Palette } from "./output.ts";

/** Where a time stands, in columns. */
export class TimeScale {
  readonly width: number;
  readonly start: number;
  readonly span: number;

  constructor(start: number, end: number, width: number) {
    this.width = width;
    this.start = start;
    this.span = Math.max(1, end - start);
  }

  columnOf(time: number): number {
    const column = Math.floor(((time - this.start) * this.width) / this.span);
    return Math.max(0, Math.min(this.width - 1, column));
  }

  /**
   * The first column of a span and the one behind its last. Both are rounded the same way, so that what
   * follows a span begins where it ends; one column is the least, or it would not be seen.
   */
  cover(start: number, end: number): readonly [from: number, to: number] {
    const from = this.columnOf(start);
    const to = Math.floor(((end - this.start) * this.width) / this.span);
    return [from, Math.max(from + 1, Math.min(this.width, to))];
  }
}

/** How the times of an axis are divided and written. */
export interface Ruler {
  /** The distance between two marks: not less than this, and a round one. */
  stepFrom(least: number): number;
  labelOf(time: number, step: number): string;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
];

/** Milliseconds. */
export const CLOCK: Ruler = {
  stepFrom: (least) => STEPS.find((one) => one >= least) ?? Math.ceil(least / DAY) * DAY,
  labelOf: clockLabel,
};

/** Numbers without a clock. */
export const COUNT: Ruler = {
  stepFrom(least) {
    const magnitude = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, least))));
    return [1, 2, 5, 10].map((count) => count * magnitude).find((step) => step >= least) ?? 10 * magnitude;
  },
  labelOf: String,
};

/** In the unit of the step, so that the labels of an axis look alike. */
function clockLabel(ms: number, step: number): string {
  if (ms === 0) return "0";
  if (step < SECOND) return ms < SECOND ? `${ms}ms` : `${ms / SECOND}s`;
  if (step < MINUTE) {
    if (ms < MINUTE) return `${ms / SECOND}s`;
    const seconds = (ms % MINUTE) / SECOND;
    return `${Math.floor(ms / MINUTE)}m${seconds === 0 ? "" : `${String(seconds).padStart(2, "0")}s`}`;
  }
  if (ms < HOUR) return `${ms / MINUTE}m`;
  const minutes = (ms % HOUR) / MINUTE;
  return `${Math.floor(ms / HOUR)}h${minutes === 0 ? "" : `${String(minutes).padStart(2, "0")}m`}`;
}

const TICK_COLUMNS = 10;

/** Two lines: the labels, and the marks below them. */
export function axisLines(scale: TimeScale, left: number, { dim }: Palette, ruler: Ruler = CLOCK): string[] {
  const step = ruler.stepFrom((scale.span * TICK_COLUMNS) / scale.width);
  let labels = "";
  let line = "";
  for (let time = 0; time <= scale.span; time += step) {
    const column = Math.floor((time * scale.width) / scale.span);
    const label = ruler.labelOf(time, step);
    if (column >= scale.width || column + label.length > scale.width) break;
    labels = labels.padEnd(column) + label;
    line = `${line.padEnd(column, "─")}┬`;
  }
  const indent = " ".repeat(left);
  return [dim(indent + labels), dim(indent + line.padEnd(scale.width, "─"))];
}
