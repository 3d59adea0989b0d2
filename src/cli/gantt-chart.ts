import type { AttemptOutcome } from "../words/index.ts";
import { countOf, formatMs } from "../words/index.ts";
import type { Bar, Chart, Row, Span } from "./gantt-rows.ts";
import type { Palette } from "./output.ts";
import { fitText, neutralise, padText, textWidth } from "./terminal-text.ts";

type Tone = "green" | "red" | "yellow" | "cyan" | "dim" | "none";

/** A column of a row. An empty text is the right half of a wide character. */
interface Cell {
  text: string;
  tone: Tone;
}

const BARS: Record<AttemptOutcome, readonly [mark: string, tone: Tone, words: string]> = {
  finished: ["█", "green", "finished"],
  failed: ["▒", "red", "failed"],
  "timed-out": ["▓", "red", "timed out"],
  lost: ["░", "yellow", "lost"],
  cancelled: ["░", "yellow", "cancelled"],
  open: ["▓", "cyan", "not ended"],
};
const WAIT = "·";
const CRITICAL = "*";
/** The left edge of a bar that touches the one before it. */
const EDGE = "▐";
const LABEL_SHARE = 0.3;
const DURATION_WIDTH = "59m 59s".length;

/** Draw a chart that is at most `columns` wide. */
export function drawChart(chart: Chart, columns: number, palette: Palette): string[] {
  const labels = chart.rows.map((row, at) => labelOf(chart, row, at));
  const labelWidth = Math.min(Math.floor(columns * LABEL_SHARE), Math.max(4, ...labels.map(textWidth)));
  const left = 2 + labelWidth + 2;
  const right = chart.by === "node" ? 1 + DURATION_WIDTH : 0;
  const scale = new Scale(chart, Math.max(10, columns - left - right));
  const rows = chart.rows.map((row, at) => {
    const mark = row.critical ? `${CRITICAL} ` : "  ";
    const cells = paint(drawRow(chart, row, scale), palette);
    const duration = chart.by === "node" ? palette.dim(durationOf(row).padStart(right)) : "";
    return `${palette.bold(mark)}${padText(labels[at] as string, labelWidth)}  ${cells}${duration}`.trimEnd();
  });
  return [
    ...headingLines(chart, columns, palette),
    "",
    ...axisLines(scale, left, palette),
    ...rows,
    "",
    ...legendLines(chart, columns, palette),
  ];
}

function headingLines(chart: Chart, columns: number, { bold, dim }: Palette): string[] {
  const name = neutralise(chart.name === "" ? chart.run : chart.name);
  const took = formatMs(chart.end - chart.start);
  const what = chart.outcome === "open" ? `open after ${took}` : `${chart.outcome} in ${took}`;
  const which = chart.runs > 1 ? `, one of ${countOf(chart.runs, "run")} (--run chooses)` : "";
  return [
    bold(fitText(`${name} ${what}`, columns)),
    dim(fitText(`run ${neutralise(chart.run)}, ${countOf(chart.nodes, "node")}${which}`, columns)),
  ];
}

function labelOf({ by, rows }: Chart, { label, lane }: Row, at: number): string {
  if (by === "node" || lane === 1) return neutralise(label);
  return rows[at - 1]?.label === label ? "" : `${neutralise(label)} #${lane}`;
}

/** Where a time stands, in columns. */
class Scale {
  readonly width: number;
  readonly startMs: number;
  readonly spanMs: number;

  constructor({ start, end, rows }: Chart, width: number) {
    this.width = width;
    this.startMs = start;
    const last = rows.reduce((at, { bars }) => bars.reduce((most, bar) => Math.max(most, bar.end), at), end);
    this.spanMs = Math.max(1, last - start);
  }

  columnOf(ms: number): number {
    const column = Math.floor(((ms - this.startMs) * this.width) / this.spanMs);
    return Math.max(0, Math.min(this.width - 1, column));
  }

  /**
   * The first column of a span and the one behind its last. Both are rounded the same way, so that what
   * follows a span begins where it ends; one column is the least, or it would not be seen.
   */
  cover({ start, end }: Span): readonly [from: number, to: number] {
    const from = this.columnOf(start);
    const to = Math.floor(((end - this.startMs) * this.width) / this.spanMs);
    return [from, Math.max(from + 1, Math.min(this.width, to))];
  }
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
const TICK_COLUMNS = 10;

function axisLines(scale: Scale, left: number, { dim }: Palette): string[] {
  const wanted = (scale.spanMs * TICK_COLUMNS) / scale.width;
  const step = STEPS.find((one) => one >= wanted) ?? Math.ceil(wanted / DAY) * DAY;
  let labels = "";
  let line = "";
  for (let ms = 0; ms <= scale.spanMs; ms += step) {
    const column = Math.floor((ms * scale.width) / scale.spanMs);
    const label = tickLabel(ms, step);
    if (column >= scale.width || column + label.length > scale.width) break;
    labels = labels.padEnd(column) + label;
    line = `${line.padEnd(column, "─")}┬`;
  }
  const indent = " ".repeat(left);
  return [dim(indent + labels), dim(indent + line.padEnd(scale.width, "─"))];
}

/** In the unit of the step, so that the labels of an axis look alike. */
function tickLabel(ms: number, step: number): string {
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

function drawRow(chart: Chart, row: Row, scale: Scale): Cell[] {
  const cells: Cell[] = Array.from({ length: scale.width }, () => ({ text: " ", tone: "none" }));
  if (row.fate !== null && row.waits.length === 0) writeText(cells, 0, row.fate, "dim");
  for (const wait of row.waits) {
    const [from, to] = scale.cover(wait);
    for (let at = from; at < to; at++) cells[at] = { text: WAIT, tone: "dim" };
  }
  // What went wrong is drawn last: among many short bars it must not be covered.
  for (const bar of row.bars.toSorted((a, b) => Number(isWrong(a)) - Number(isWrong(b)))) {
    drawBar(chart, cells, bar, scale);
  }
  return cells;
}

function isWrong({ outcome }: Bar): boolean {
  return outcome !== "finished" && outcome !== "open";
}

function drawBar(chart: Chart, cells: Cell[], bar: Bar, scale: Scale): void {
  const [from, to] = scale.cover(bar);
  const [mark, tone] = BARS[bar.outcome];
  const touches = from > 0 && isBar(cells[from - 1]) && to - from > 1;
  for (let at = from; at < to; at++) cells[at] = { text: at === from && touches ? EDGE : mark, tone };
  const marked = chart.by === "worker" && bar.critical;
  const name = neutralise(chart.by === "worker" ? bar.node : bar.worker);
  const text = `${marked ? CRITICAL : ""}${name}${bar.attempt > 1 ? ` #${bar.attempt}` : ""}`;
  // A mark on both sides, so that it still reads as a bar.
  if (textWidth(text) + 4 <= to - from) writeText(cells, from + 1, ` ${text} `, "none");
  else if (marked && to - from > 1) writeText(cells, from + 1, CRITICAL, "none");
}

const BAR_MARKS: ReadonlySet<string> = new Set([EDGE, ...Object.values(BARS).map(([mark]) => mark)]);

function isBar(cell: Cell | undefined): boolean {
  return cell !== undefined && BAR_MARKS.has(cell.text);
}

function writeText(cells: Cell[], from: number, text: string, tone: Tone): void {
  let at = from;
  for (const character of text) {
    const width = textWidth(character);
    if (width === 0 && at > from) (cells[at - 1] as Cell).text += character;
    if (width === 0) continue;
    if (at + width > cells.length) return;
    cells[at] = { text: character, tone };
    if (width === 2) cells[at + 1] = { text: "", tone };
    at += width;
  }
}

function paint(cells: readonly Cell[], palette: Palette): string {
  let line = "";
  for (let at = 0; at < cells.length; ) {
    const { tone } = cells[at] as Cell;
    let text = "";
    for (; at < cells.length && cells[at]?.tone === tone; at++) text += (cells[at] as Cell).text;
    line += tone === "none" ? text : palette[tone](text);
  }
  return line;
}

/** Of all attempts, without the waits between them. */
function durationOf({ bars }: Row): string {
  return bars.length === 0 ? "" : formatMs(bars.reduce((sum, { start, end }) => sum + end - start, 0));
}

function legendLines(chart: Chart, columns: number, palette: Palette): string[] {
  const outcomes = new Set(chart.rows.flatMap(({ bars }) => bars.map(({ outcome }) => outcome)));
  const entries: { text: string; painted: string }[] = [];
  const add = (mark: string, tone: Tone, words: string): void => {
    const painted = tone === "none" ? palette.bold(mark) : palette[tone](mark);
    entries.push({ text: `${mark} ${words}`, painted: `${painted} ${palette.dim(words)}` });
  };
  for (const outcome of Object.keys(BARS) as AttemptOutcome[]) {
    if (outcomes.has(outcome)) add(...BARS[outcome]);
  }
  if (chart.rows.some(({ waits }) => waits.length > 0)) add(WAIT, "dim", "ready, waiting");
  if (chart.criticalPath.length > 0) {
    add(CRITICAL, "none", `critical path (${countOf(chart.criticalPath.length, "node")})`);
  }
  const lines: string[] = [];
  let line = "";
  let width = 0;
  for (const { text, painted } of entries) {
    const added = textWidth(text) + (width === 0 ? 2 : 3);
    if (width > 0 && width + added > columns) {
      lines.push(line);
      line = "";
      width = 0;
    }
    line += `${width === 0 ? "  " : "   "}${painted}`;
    width += added;
  }
  return line === "" ? lines : [...lines, line];
}
