import type { AttemptOutcome } from "../words/index.ts";
import { countOf, formatMs } from "../words/index.ts";
import {
  barCells,
  blankCells,
  type Cell,
  fillCells,
  type LegendEntry,
  legendLines,
  paintCells,
  type Tone,
  writeText,
} from "./chart-cells.ts";
import type { Bar, Chart, Row } from "./gantt-rows.ts";
import type { Palette } from "./output.ts";
import { fitText, neutralise, padText, textWidth } from "./terminal-text.ts";
import { axisLines, TimeScale } from "./time-scale.ts";

const BARS: Record<AttemptOutcome, readonly [mark: string, tone: Tone, words: string]> = {
  finished: ["█", "green", "finished"],
  failed: ["▒", "red", "failed"],
  "timed-out": ["▓", "red", "timed out"],
  lost: ["░", "yellow", "lost"],
  returned: ["░", "cyan", "given back"],
  cancelled: ["░", "yellow", "cancelled"],
  open: ["▓", "cyan", "not ended"],
};
const WAIT = "·";
const CRITICAL = "*";
const LABEL_SHARE = 0.3;
const DURATION_WIDTH = "59m 59s".length;

/** Draw a chart that is at most `columns` wide. */
export function drawChart(chart: Chart, columns: number, palette: Palette): string[] {
  const labels = chart.rows.map((row, at) => labelOf(chart, row, at));
  const labelWidth = Math.min(Math.floor(columns * LABEL_SHARE), Math.max(4, ...labels.map(textWidth)));
  const left = 2 + labelWidth + 2;
  const right = chart.by === "node" ? 1 + DURATION_WIDTH : 0;
  const last = chart.rows.reduce(
    (at, { bars }) => bars.reduce((most, bar) => Math.max(most, bar.end), at),
    chart.end,
  );
  const scale = new TimeScale(chart.start, last, Math.max(10, columns - left - right));
  const rows = chart.rows.map((row, at) => {
    const mark = row.critical ? `${CRITICAL} ` : "  ";
    const cells = paintCells(drawRow(chart, row, scale), palette);
    const duration = chart.by === "node" ? palette.dim(durationOf(row).padStart(right)) : "";
    return `${palette.bold(mark)}${padText(labels[at] as string, labelWidth)}  ${cells}${duration}`.trimEnd();
  });
  return [
    ...headingLines(chart, columns, palette),
    "",
    ...axisLines(scale, left, palette),
    ...rows,
    "",
    ...legendLines(legendOf(chart), columns, palette),
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

function drawRow(chart: Chart, row: Row, scale: TimeScale): Cell[] {
  const cells = blankCells(scale.width);
  if (row.fate !== null && row.waits.length === 0) writeText(cells, 0, row.fate, "dim");
  for (const wait of row.waits) {
    fillCells(cells, ...scale.cover(wait.start, wait.end), WAIT, "dim");
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

function drawBar(chart: Chart, cells: Cell[], bar: Bar, scale: TimeScale): void {
  const [from, to] = scale.cover(bar.start, bar.end);
  const [mark, tone] = BARS[bar.outcome];
  barCells(cells, from, to, mark, tone);
  const marked = chart.by === "worker" && bar.critical;
  const name = neutralise(chart.by === "worker" ? bar.node : bar.worker);
  const text = `${marked ? CRITICAL : ""}${name}${bar.attempt > 1 ? ` #${bar.attempt}` : ""}`;
  // A mark on both sides, so that it still reads as a bar.
  if (textWidth(text) + 4 <= to - from) writeText(cells, from + 1, ` ${text} `, "none");
  else if (marked && to - from > 1) writeText(cells, from + 1, CRITICAL, "none");
}

/** Of all attempts, without the waits between them. */
function durationOf({ bars }: Row): string {
  return bars.length === 0 ? "" : formatMs(bars.reduce((sum, { start, end }) => sum + end - start, 0));
}

function legendOf(chart: Chart): LegendEntry[] {
  const outcomes = new Set(chart.rows.flatMap(({ bars }) => bars.map(({ outcome }) => outcome)));
  const entries = (Object.keys(BARS) as AttemptOutcome[])
    .filter((outcome) => outcomes.has(outcome))
    .map((outcome): LegendEntry => {
      const [mark, tone, words] = BARS[outcome];
      return { mark, tone, words };
    });
  if (chart.rows.some(({ waits }) => waits.length > 0))
    entries.push({ mark: WAIT, tone: "dim", words: "ready, waiting" });
  if (chart.criticalPath.length > 0) {
    const words = `critical path (${countOf(chart.criticalPath.length, "node")})`;
    entries.push({ mark: CRITICAL, tone: "none", words });
  }
  return entries;
}
