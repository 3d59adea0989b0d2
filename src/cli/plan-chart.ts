import type { Scheduled } from "../plan/index.ts";
import { countOf } from "../words/index.ts";
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
import type { Palette } from "./output.ts";
import { barsOf, type PlanReport, readyTimes } from "./plan-report.ts";
import { formatTicks, labelsOf, rulerOf } from "./plan-words.ts";
import { neutralise, padText, textWidth } from "./terminal-text.ts";
import { axisLines, TimeScale } from "./time-scale.ts";

/** More nodes than this share rows, one for each lane. */
export const MOST_ROWS = 40;
const WAIT = "·";
const CRITICAL = "*";
const LABEL_SHARE = 0.3;

type Kind = "running" | "critical" | "planned";

const BARS: Readonly<Record<Kind, readonly [mark: string, tone: Tone, words: string]>> = {
  running: ["░", "green", "runs already"],
  critical: ["█", "yellow", "critical path"],
  planned: ["▒", "cyan", "planned"],
};

/** Draw a plan that is at most `columns` wide: a row for each node, or for each lane where there are many. */
export function drawPlan(report: PlanReport, columns: number, palette: Palette): string[] {
  const chart = new PlanChart(report);
  return report.plan.schedule.length <= MOST_ROWS
    ? nodeLines(chart, columns, palette)
    : laneLines(chart, columns, palette);
}

/** What the rows are drawn from. */
class PlanChart {
  readonly report: PlanReport;
  readonly #running: ReadonlySet<string>;
  #readyAt: ReadonlyMap<string, number> | undefined;

  constructor(report: PlanReport) {
    this.report = report;
    const running = report.project.activities.filter(({ state }) => state.is === "running");
    this.#running = new Set(running.map(({ id }) => id));
  }

  kindOf({ id, critical }: Scheduled): Kind {
    if (this.#running.has(id)) return "running";
    return critical ? "critical" : "planned";
  }

  /** When the last that it needs ends. Lanes do not ask. */
  readyAt({ id }: Scheduled): number {
    this.#readyAt ??= readyTimes(this.report);
    return this.#readyAt.get(id) ?? 0;
  }

  scale(width: number): TimeScale {
    const { perTick } = rulerOf(this.report.project.unit);
    return new TimeScale(0, this.report.plan.makespan * perTick, Math.max(10, width));
  }

  cover(scale: TimeScale, start: number, end: number): readonly [from: number, to: number] {
    const { perTick } = rulerOf(this.report.project.unit);
    return scale.cover(start * perTick, end * perTick);
  }

  /** Rows of nodes also show what waits; their star has to be explained where no bar does. */
  legend(by: "node" | "lane"): LegendEntry[] {
    const { schedule } = this.report.plan;
    const kinds = new Set(schedule.map((one) => this.kindOf(one)));
    const entries = (Object.keys(BARS) as Kind[])
      .filter((kind) => kinds.has(kind))
      .map((kind): LegendEntry => ({ mark: BARS[kind][0], tone: BARS[kind][1], words: BARS[kind][2] }));
    if (by === "lane") return entries;
    if (schedule.some((one) => one.critical && this.kindOf(one) !== "critical"))
      entries.push({ mark: CRITICAL, tone: "none", words: "on the critical path" });
    if (schedule.some((one) => this.readyAt(one) < one.start))
      entries.push({ mark: WAIT, tone: "dim", words: "ready, waiting" });
    return entries;
  }
}

function nodeLines(chart: PlanChart, columns: number, palette: Palette): string[] {
  const { plan, project } = chart.report;
  const bars = barsOf(plan);
  const labelOf = labelsOf(
    project,
    bars.map(({ id }) => id),
  );
  const labels = bars.map(({ id, tag = "" }) => `${labelOf.get(id) ?? ""} ${tag}`.trimEnd());
  const spans = bars.map(
    ({ start, finish }) => `${formatTicks(start, project.unit)} → ${formatTicks(finish, project.unit)}`,
  );
  const labelWidth = Math.min(Math.floor(columns * LABEL_SHARE), Math.max(4, ...labels.map(textWidth)));
  const left = 2 + labelWidth + 2;
  const right = 2 + Math.max(0, ...spans.map(textWidth));
  const scale = chart.scale(columns - left - right);
  const rows = bars.map((one, at) => {
    const cells = blankCells(scale.width);
    const readyAt = chart.readyAt(one);
    if (readyAt < one.start) fillCells(cells, ...chart.cover(scale, readyAt, one.start), WAIT, "dim");
    drawBar(chart, cells, one, scale, `lane ${one.lane + 1}`);
    const span = palette.dim((spans[at] as string).padStart(right));
    const label = padText(labels[at] as string, labelWidth);
    return `${palette.bold(one.critical ? `${CRITICAL} ` : "  ")}${label}  ${paintCells(cells, palette)}${span}`;
  });
  return [
    ...axis(chart, scale, left, palette),
    ...rows,
    "",
    ...legendLines(chart.legend("node"), columns, palette),
  ];
}

function laneLines(chart: PlanChart, columns: number, palette: Palette): string[] {
  const bars = barsOf(chart.report.plan);
  const lanes = bars.reduce((most, { lane }) => Math.max(most, lane + 1), 0);
  const shown = Math.min(lanes, MOST_ROWS);
  const left = `  lane ${shown}  `.length;
  const scale = chart.scale(columns - left);
  const rows = Array.from({ length: shown }, () => blankCells(scale.width));
  // The critical path is drawn last: among many short bars it must not be covered.
  for (const isCritical of [false, true]) {
    for (const one of bars) {
      const cells = one.critical === isCritical ? rows[one.lane] : undefined;
      if (cells) drawBar(chart, cells, one, scale, `${one.id} ${one.tag ?? ""}`.trimEnd());
    }
  }
  const lines = rows.map((cells, lane) =>
    `${padText(`  lane ${lane + 1}`, left)}${paintCells(cells, palette)}`.trimEnd(),
  );
  const more = lanes > shown ? [palette.dim(`  … and ${countOf(lanes - shown, "lane")} more`)] : [];
  return [
    ...axis(chart, scale, left, palette),
    ...lines,
    ...more,
    "",
    ...legendLines(chart.legend("lane"), columns, palette),
  ];
}

function axis(chart: PlanChart, scale: TimeScale, left: number, palette: Palette): string[] {
  return axisLines(scale, left, palette, rulerOf(chart.report.project.unit).ruler);
}

function drawBar(chart: PlanChart, cells: Cell[], one: Scheduled, scale: TimeScale, text: string): void {
  const [from, to] = chart.cover(scale, one.start, one.finish);
  const [mark, tone] = BARS[chart.kindOf(one)];
  barCells(cells, from, to, mark, tone);
  // A mark on both sides, so that it still reads as a bar.
  if (to - from <= 4) return;
  const safe = neutralise(text);
  if (textWidth(safe) + 4 <= to - from) writeText(cells, from + 1, ` ${safe} `, "none");
}
