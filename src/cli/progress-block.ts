import colors from "picocolors";
import { formatDuration } from "../words/index.ts";
import { fitText, neutralise, padText, textWidth } from "./terminal-text.ts";

export interface ProgressNode {
  readonly id: string;
  readonly worker: string;
  readonly attempt: number;
  /** On the clock of the view's `elapsedMs`: counted from the start of the run. */
  readonly startedAtMs: number;
  /** 0 when nothing is known. */
  readonly estimateMs: number;
}

/** A run at one moment. */
export interface ProgressView {
  readonly name: string;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly cancelled: number;
  readonly waiting: number;
  readonly ready: number;
  readonly running: readonly ProgressNode[];
  readonly elapsedMs: number;
  /** An estimate. */
  readonly remainingMs: number | undefined;
  readonly cancelling: boolean;
}

/** What of the screen stays free for the lines above the block and the one below it. */
const FREE_ROWS = 4;
const HEADER_BAR = { min: 10, max: 30 };
const NODE_BAR = 10;
const NAME_MIN = 12;
const DURATION_WIDTH = "59m 59s".length;

type Paint = (text: string) => string;
type Palette = ReturnType<typeof colors.createColors>;

const plain: Paint = (text) => text;

/** A piece of a line. Cells are cut before they are painted, so no escape sequence is ever cut. */
interface Cell {
  readonly text: string;
  readonly paint: Paint;
}

/** Draw the live block: a header, then a line for each running node, as many as there is room for. */
export function renderBlock(view: ProgressView, columns: number, rows: number, color: boolean): string[] {
  const palette = colors.createColors(color);
  const room = Math.max(1, rows - FREE_ROWS) - 1;
  const shown = view.running.length <= room ? view.running : view.running.slice(0, Math.max(0, room - 1));
  const hidden = view.running.length - shown.length;

  const lines = [headerCells(view, columns, palette), ...nodeCells(view, shown, columns, palette)];
  if (hidden > 0 && room > 0) lines.push([{ text: `  … and ${hidden} more`, paint: palette.dim }]);
  return lines.map((cells) => paintCells(cells, columns));
}

/** The counts that say something, most of them left out while they are 0. */
export function describeCounts(view: ProgressView): string[] {
  return countsOf(view, colors.createColors(false)).map((count) => count.text);
}

/** `rank`: when the line is too narrow, the highest rank goes first. */
interface Count extends Cell {
  readonly rank: number;
}

/** Up to this rank counts are worth more than the bar. */
const ESSENTIAL_RANK = 4;

function countsOf(view: ProgressView, { red, yellow, cyan, dim }: Palette): Count[] {
  const counts: (Count | false)[] = [
    view.cancelling && { text: "cancelling", paint: yellow, rank: 2 },
    { text: `${view.completed}/${view.total} done`, paint: plain, rank: 0 },
    view.running.length > 0 && { text: `${view.running.length} running`, paint: cyan, rank: 4 },
    view.failed > 0 && { text: `${view.failed} failed`, paint: red, rank: 1 },
    view.skipped > 0 && { text: `${view.skipped} skipped`, paint: dim, rank: 6 },
    view.cancelled > 0 && { text: `${view.cancelled} cancelled`, paint: yellow, rank: 5 },
    view.ready > 0 && { text: `${view.ready} ready`, paint: plain, rank: 8 },
    view.waiting > 0 && { text: `${view.waiting} waiting`, paint: dim, rank: 9 },
    { text: formatDuration(view.elapsedMs), paint: plain, rank: 7 },
  ];
  if (view.remainingMs !== undefined && view.remainingMs > 0 && !view.cancelling) {
    counts.push({ text: `~${formatDuration(view.remainingMs + 999)} left`, paint: plain, rank: 3 });
  }
  return counts.filter((count) => count !== false);
}

function headerCells(view: ProgressView, columns: number, palette: Palette): Cell[] {
  const name = neutralise(view.name);
  const nameMin = Math.min(textWidth(name), NAME_MIN);
  const afterBar = (counts: readonly Count[]): number => columns - nameMin - widthOf(counts) - 2;

  let counts = countsOf(view, palette);
  counts = dropUntil(counts, ESSENTIAL_RANK, (kept) => afterBar(kept) >= HEADER_BAR.min);
  counts = dropUntil(counts, 0, (kept) => afterBar(kept) >= -1);

  const spare = columns - widthOf(counts) - 2;
  const wanted = Math.max(HEADER_BAR.min, Math.min(HEADER_BAR.max, spare - textWidth(name)));
  const bar = spare - nameMin < wanted ? 0 : wanted;
  return [
    { text: `${fitText(name, bar === 0 ? spare + 1 : spare - bar)} `, paint: palette.bold },
    ...(bar === 0 ? [] : [...runBar(view, bar, palette), { text: " ", paint: plain }]),
    ...separated(counts, palette),
  ];
}

function dropUntil(counts: Count[], keepRank: number, fits: (counts: readonly Count[]) => boolean): Count[] {
  let kept = counts;
  while (!fits(kept)) {
    const last = Math.max(...kept.map((count) => count.rank));
    if (last <= keepRank) break;
    kept = kept.filter((count) => count.rank !== last);
  }
  return kept;
}

const SEPARATOR = " · ";

function widthOf(counts: readonly Count[]): number {
  return counts.reduce((width, count) => width + count.text.length + SEPARATOR.length, -SEPARATOR.length);
}

function separated(counts: readonly Count[], { dim }: Palette): Cell[] {
  return counts.flatMap((count, i) => (i === 0 ? [count] : [{ text: SEPARATOR, paint: dim }, count]));
}

function runBar(view: ProgressView, width: number, { green, red, dim }: Palette): Cell[] {
  const total = Math.max(1, view.total);
  const settled = view.completed + view.failed + view.skipped + view.cancelled;
  const good = Math.floor((width * view.completed) / total);
  const filled = Math.floor((width * settled) / total);
  return [
    { text: "█".repeat(good), paint: green },
    { text: "▓".repeat(filled - good), paint: red },
    { text: "░".repeat(Math.max(0, width - filled)), paint: dim },
  ];
}

function nodeCells(
  view: ProgressView,
  nodes: readonly ProgressNode[],
  columns: number,
  palette: Palette,
): Cell[][] {
  const ids = nodes.map((node) => neutralise(node.id));
  const workers = nodes.map((node) => neutralise(node.worker));
  const idWidth = Math.min(Math.floor(columns * 0.4), Math.max(...ids.map(textWidth)));
  const workerWidth = Math.min(Math.floor(columns * 0.2), Math.max(...workers.map(textWidth)));
  const hasBar = 2 + idWidth + 2 + workerWidth + 1 + DURATION_WIDTH + 2 + NODE_BAR <= columns;
  return nodes.map((node, i) => {
    const nodeMs = view.elapsedMs - node.startedAtMs;
    return [
      { text: `  ${padText(ids[i] ?? "", idWidth)}  `, paint: plain },
      { text: `${padText(workers[i] ?? "", workerWidth)} `, paint: palette.dim },
      { text: formatDuration(nodeMs).padStart(DURATION_WIDTH), paint: plain },
      ...(hasBar ? estimateBar(nodeMs, node.estimateMs, palette) : []),
      { text: node.attempt > 1 ? `  attempt ${node.attempt}` : "", paint: palette.yellow },
    ];
  });
}

function estimateBar(nodeMs: number, estimateMs: number, { cyan, yellow, dim }: Palette): Cell[] {
  if (estimateMs <= 0) return [{ text: " ".repeat(2 + NODE_BAR), paint: plain }];
  const filled = Math.max(0, Math.min(NODE_BAR, Math.floor((NODE_BAR * nodeMs) / estimateMs)));
  return [
    { text: `  ${"━".repeat(filled)}`, paint: nodeMs > estimateMs ? yellow : cyan },
    { text: "─".repeat(NODE_BAR - filled), paint: dim },
  ];
}

function paintCells(cells: readonly Cell[], columns: number): string {
  let line = "";
  let room = columns;
  for (const { text, paint } of cells) {
    const fitted = fitText(text, room);
    room -= textWidth(fitted);
    if (fitted !== "") line += paint(fitted);
    if (fitted !== text) break;
  }
  return line;
}
