import type { Scheduled } from "../plan/index.ts";
import { countOf } from "../words/index.ts";
import { type Bar, barsOf, type PlanReport, readyTimes } from "./plan-report.ts";
import { formatTicks, rulerOf } from "./plan-words.ts";

/** A row for each node up to here; beyond, lanes are the rows. */
const MOST_BY_NODE = 60;
const ROW = 22;
const HEAD = 64;
const LABELS = { node: 240, lane: 70 };
/** A drawing grows with what it shows, so that names can be read; people scroll. Browsers draw so much, and no more. */
const WIDTH = { least: 1_200, most: 24_000, perBar: 60 };
const MOST_LANES = 1_000;
/** Bars that are narrower than this are drawn as one with those that they touch. */
const NARROW = 1.5;
const CHARACTER = 6.6;
const TICK = 90;
/** What a bar keeps free beside its text. */
const INSET = 8;

const STYLE = `
  svg { background: #fff; font: 12px system-ui, sans-serif; }
  text { fill: #1f2328; } .dim { fill: #59636e; } .grid { stroke: #d1d9e0; } .wait { stroke: #818b98; stroke-dasharray: 2 4; }
  .bar { fill: #a8cdf0; stroke: #fff; } .critical { fill: #f0a030; } .running { fill: #7cc88a; }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117; } text { fill: #e6edf3; } .dim { fill: #9198a1; } .grid { stroke: #30363d; }
    .bar { fill: #1f4f80; stroke: #0d1117; } .critical { fill: #9a5b00; } .running { fill: #22602f; }
  }`;

/** A chart that needs nothing but a browser: light or dark as its reader has it. */
export function planSvg(report: PlanReport): string {
  const { plan, project } = report;
  const by = plan.schedule.length <= MOST_BY_NODE ? "node" : "lane";
  const all = barsOf(plan);
  const lanes = all.reduce((most, { lane }) => Math.max(most, lane + 1), 0);
  const rows = by === "node" ? all.length : Math.min(lanes, MOST_LANES);
  const left = LABELS[by];
  const longestLane = Math.ceil(all.length / Math.max(1, by === "node" ? all.length : lanes));
  const width = Math.min(WIDTH.most, Math.max(WIDTH.least, left + longestLane * WIDTH.perBar));
  const perTick = (width - left - 20) / Math.max(1, plan.makespan);
  const bars = svgBars(report, all, by, rows, perTick);
  const waits = by === "node" ? waitLines(report, all, left, perTick) : [];
  const height = HEAD + rows * ROW + 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(`Plan of ${project.name}`)}">
<style>${STYLE}
</style>
<text x="10" y="20" font-weight="600">${escaped(project.name)}</text>
<text x="10" y="38" class="dim">${escaped([...aboutPlan(report), ...notes(bars, lanes, rows, by), ...(waits.length > 0 ? ["dotted: ready, waiting"] : [])].join(" · "))}</text>
${gridLines(report, left, perTick, height)}
${rowLabels(report, all, by, rows)}
${waits.join("\n")}
${bars.map((bar) => drawBar(bar, left, perTick)).join("\n")}
</svg>
`;
}

function aboutPlan({ plan, project: { unit } }: PlanReport): string[] {
  const { criticalPath, makespan, lowerBound, schedule } = plan;
  return [
    countOf(schedule.length, "node"),
    `makespan ${formatTicks(makespan, unit)}`,
    `lower bound ${formatTicks(lowerBound, unit)}`,
    `critical path ${formatTicks(criticalPath.length, unit)} (orange)`,
  ];
}

interface SvgBar {
  readonly row: number;
  readonly start: number;
  readonly finish: number;
  readonly kind: "bar" | "bar critical" | "bar running";
  /** Inside of the bar, where there is room. */
  readonly text: string;
  readonly tooltip: string;
  readonly count: number;
}

function svgBars(
  { project }: PlanReport,
  all: readonly Bar[],
  by: "node" | "lane",
  rows: number,
  perTick: number,
): SvgBar[] {
  const activities = new Map(project.activities.map((activity) => [activity.id, activity]));
  const barOf = (one: Bar, at: number): SvgBar => {
    const { state, title = "" } = activities.get(one.id) ?? { state: { is: "open" } };
    const span = `${formatTicks(one.start, project.unit)} to ${formatTicks(one.finish, project.unit)}`;
    const kind = state.is === "running" ? "bar running" : one.critical ? "bar critical" : "bar";
    return {
      ...{ row: by === "node" ? at : one.lane, start: one.start, finish: one.finish, kind, count: 1 },
      text: by === "node" ? laneText(one, perTick) : nameOf(one),
      tooltip: `${nameOf(one, title)}: ${span}, lane ${one.lane + 1}`,
    };
  };
  const bars = all.map(barOf).filter(({ row }) => row < rows);
  return by === "node" ? bars : joined(bars, perTick);
}

function nameOf({ id, tag = "" }: Bar, title = ""): string {
  return [id, title, tag].filter((part) => part !== "").join(" ");
}

/** From when a node is ready to when it starts. */
function waitLines(report: PlanReport, all: readonly Bar[], left: number, perTick: number): string[] {
  const readyAt = readyTimes(report);
  return all.flatMap(({ id, start }, row) => {
    const from = readyAt.get(id) ?? 0;
    const y = HEAD + row * ROW + ROW / 2;
    const [x1, x2] = [from, start].map((time) => round(left + time * perTick));
    return from < start ? [`<line class="wait" x1="${x1}" y1="${y}" x2="${x2}" y2="${y}"/>`] : [];
  });
}

/** Whole or not at all: cut off it would no longer say which. */
function laneText({ start, finish, lane }: Scheduled, perTick: number): string {
  const text = `lane ${lane + 1}`;
  return text.length <= roomFor((finish - start) * perTick - INSET) ? text : "";
}

/** Bars that could not be told apart are one, so that a large plan stays a file that opens. */
function joined(bars: readonly SvgBar[], perTick: number): SvgBar[] {
  const result: SvgBar[] = [];
  const last = new Map<number, number>();
  for (const bar of bars) {
    const at = last.get(bar.row);
    const before = at === undefined ? undefined : result[at];
    const touches = before !== undefined && (bar.start - before.finish) * perTick < NARROW;
    const isNarrow = (bar.finish - bar.start) * perTick < NARROW;
    if (
      at !== undefined &&
      before &&
      touches &&
      isNarrow &&
      before.kind === bar.kind &&
      isJoinable(before, perTick)
    ) {
      const count = before.count + 1;
      result[at] = {
        ...before,
        finish: Math.max(before.finish, bar.finish),
        count,
        text: "",
        tooltip: countOf(count, "node"),
      };
    } else last.set(bar.row, result.push(bar) - 1);
  }
  return result;
}

function isJoinable({ count, start, finish }: SvgBar, perTick: number): boolean {
  return count > 1 || (finish - start) * perTick < NARROW;
}

function notes(bars: readonly SvgBar[], lanes: number, rows: number, by: "node" | "lane"): string[] {
  const hidden = bars.reduce((sum, { count }) => sum + (count > 1 ? count : 0), 0);
  return [
    ...(hidden > 0 ? [`${countOf(hidden, "node")} too short to be told apart, drawn together`] : []),
    ...(by === "lane" && lanes > rows ? [`the first ${rows} of ${countOf(lanes, "lane")}`] : []),
  ];
}

function gridLines(
  { plan, project: { unit } }: PlanReport,
  left: number,
  perTick: number,
  height: number,
): string {
  const { ruler, perTick: perMark } = rulerOf(unit);
  const step = ruler.stepFrom((TICK / perTick) * perMark);
  const lines: string[] = [];
  for (let time = 0; time <= plan.makespan * perMark; time += step) {
    const x = round(left + (time / perMark) * perTick);
    lines.push(
      `<line class="grid" x1="${x}" y1="${HEAD - 6}" x2="${x}" y2="${height - 10}"/><text class="dim" x="${x + 2}" y="${HEAD - 10}">${ruler.labelOf(time, step)}</text>`,
    );
  }
  return lines.join("\n");
}

function rowLabels({ project }: PlanReport, all: readonly Bar[], by: "node" | "lane", rows: number): string {
  const titles = new Map(project.activities.map(({ id, title }) => [id, title]));
  const labelOf = (row: number): string => {
    const bar = by === "lane" ? undefined : all[row];
    return bar ? nameOf(bar, titles.get(bar.id)) : `lane ${row + 1}`;
  };
  return Array.from({ length: rows }, (_, row) => {
    const label = cut(labelOf(row), LABELS[by] - 20);
    return `<text x="10" y="${HEAD + row * ROW + 15}">${escaped(label)}</text>`;
  }).join("\n");
}

function drawBar({ row, start, finish, kind, text, tooltip }: SvgBar, left: number, perTick: number): string {
  const x = round(left + start * perTick);
  const width = round(Math.max(1, (finish - start) * perTick));
  const y = HEAD + row * ROW;
  const label = cut(text, width - INSET);
  const inside = label === "" ? "" : `<text x="${x + 4}" y="${y + 15}">${escaped(label)}</text>`;
  return `<g><title>${escaped(tooltip)}</title><rect class="${kind}" x="${x}" y="${y + 2}" width="${width}" height="${ROW - 4}" rx="2"/>${inside}</g>`;
}

/** As much as there is room for; nothing where that would be too little to say anything. */
function cut(text: string, width: number): string {
  const most = roomFor(width);
  if ([...text].length <= most) return text;
  return most < 3 ? "" : `${[...text].slice(0, most - 1).join("")}…`;
}

function roomFor(width: number): number {
  return Math.floor(width / CHARACTER);
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has none but these
const NOT_IN_XML = /[^\u0009\u000a\u000d\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

function escaped(text: string): string {
  return text
    .replace(NOT_IN_XML, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");
}
