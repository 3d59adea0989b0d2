import type { Palette } from "./output.ts";
import { textWidth } from "./terminal-text.ts";

/** What charts are painted with. */
export type Tone = "green" | "red" | "yellow" | "cyan" | "dim" | "none";

/** A column of a row. An empty text is the right half of a wide character. */
export interface Cell {
  text: string;
  tone: Tone;
}

/** The left edge of a bar that touches the one before it. */
const EDGE = "▐";
/** Every mark of which bars are made. */
const BAR_MARKS: ReadonlySet<string> = new Set([EDGE, "█", "▓", "▒", "░"]);

export function blankCells(width: number): Cell[] {
  return Array.from({ length: width }, () => ({ text: " ", tone: "none" }));
}

/** Paints the columns from `from` up to `to`. */
export function fillCells(cells: Cell[], from: number, to: number, mark: string, tone: Tone): void {
  for (let at = from; at < to; at++) cells[at] = { text: mark, tone };
}

/** A bar, told from one that it touches where there is room for that. */
export function barCells(cells: Cell[], from: number, to: number, mark: string, tone: Tone): void {
  const touches = from > 0 && BAR_MARKS.has(cells[from - 1]?.text ?? "") && to - from > 1;
  fillCells(cells, from, to, mark, tone);
  if (touches) cells[from] = { text: EDGE, tone };
}

export function writeText(cells: Cell[], from: number, text: string, tone: Tone): void {
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

export function paintCells(cells: readonly Cell[], palette: Palette): string {
  let line = "";
  for (let at = 0; at < cells.length; ) {
    const { tone } = cells[at] as Cell;
    let text = "";
    for (; at < cells.length && cells[at]?.tone === tone; at++) text += (cells[at] as Cell).text;
    line += tone === "none" ? text : palette[tone](text);
  }
  return line;
}

export interface LegendEntry {
  readonly mark: string;
  readonly tone: Tone;
  readonly words: string;
}

/** What the marks mean, on as many lines as that takes. */
export function legendLines(entries: readonly LegendEntry[], columns: number, palette: Palette): string[] {
  const lines: string[] = [];
  let line = "";
  let width = 0;
  for (const { mark, tone, words } of entries) {
    const added = textWidth(`${mark} ${words}`) + (width === 0 ? 2 : 3);
    if (width > 0 && width + added > columns) {
      lines.push(line);
      line = "";
      width = 0;
    }
    const painted = tone === "none" ? palette.bold(mark) : palette[tone](mark);
    line += `${width === 0 ? "  " : "   "}${painted} ${palette.dim(words)}`;
    width += added;
  }
  return line === "" ? lines : [...lines, line];
}
