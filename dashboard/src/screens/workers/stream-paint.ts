import type { Attempt } from "../../api/attempts.ts";
import type { Palette } from "../../parts/picture/palette.ts";
import type { Pen } from "../../parts/picture/pen.ts";
import { AXIS_PX, paintTimeAxis } from "../../parts/picture/time-axis.ts";
import { type TimeScale, timeAt, xOf } from "../../parts/picture/time-scale.ts";
import type { TimeMode } from "../../time/time.tsx";
import type { StreamRow } from "./stream-rows.ts";
import { colourAt } from "./type-colours.ts";

export const ROW_PX = 18;
const BAR_PX = 14;
const TRANSFER_PX = 3;
const LETTERS_PX = 11;
/** What is shorter is still seen. */
const LEAST_PX = 1;
/** However short, a failure stands out. */
const FAILED_PX = 3;
const WORTH_A_WORD_PX = 38;
const WORTH_A_SHAPE_PX = 10;

/** What is looked at: which time, and which rows from the top on. */
export interface StreamView {
  readonly scale: TimeScale;
  readonly top: number;
  readonly height: number;
  readonly now: number;
  /** What ended before is not remembered. */
  readonly knownFrom: number;
  readonly mode: TimeMode;
  /** Of each task type, its place among the colours. */
  readonly places: ReadonlyMap<string, number>;
}

/** How attempts that did not finish are told apart, also without colours. */
export const SHAPES: Readonly<Record<string, string>> = {
  failed: "✕",
  "timed out": "◷",
  lost: "?",
  cancelled: "⊘",
  expanded: "⤢",
};

export function paintStream(pen: Pen, rows: readonly StreamRow[], view: StreamView, palette: Palette): void {
  const { scale, top, height, now, mode } = view;
  paintTimeAxis(pen, scale, palette, { mode, origin: now, height });
  const first = Math.max(0, Math.floor(top / ROW_PX));
  const last = Math.min(rows.length, Math.ceil((top + height - AXIS_PX) / ROW_PX));
  const shown = rows.slice(first, last);
  const yOf = (at: number) => AXIS_PX + (first + at) * ROW_PX - top;
  pen.within(0, AXIS_PX + 1, scale.left + scale.width, height, () => {
    paintLabels(pen, shown, yOf, scale.left, palette);
    pen.within(scale.left, AXIS_PX + 1, scale.width, height, () => {
      paintUnknown(pen, view, palette);
      const bars = new Bars(view, palette);
      for (const [at, { attempts }] of shown.entries())
        for (const attempt of attempts) bars.add(attempt, yOf(at) + (ROW_PX - BAR_PX) / 2);
      bars.paint(pen);
    });
  });
}

/** Where nothing is drawn because nobody remembers it, rather than because nothing happened. */
function paintUnknown(pen: Pen, { scale, height, knownFrom }: StreamView, palette: Palette): void {
  const width = Math.min(scale.width, xOf(scale, knownFrom) - scale.left);
  if (width <= 0) return;
  pen.fill([scale.left, AXIS_PX, width, height], { colour: palette.hover });
  const words = { colour: palette.quiet, size: LETTERS_PX, maxWidth: width - 12 };
  pen.text(scale.left + 6, AXIS_PX + ROW_PX / 2, "not remembered", words);
}

function paintLabels(
  pen: Pen,
  rows: readonly StreamRow[],
  yOf: (at: number) => number,
  width: number,
  palette: Palette,
): void {
  for (const [at, { worker, lane, isFirst }] of rows.entries()) {
    const y = yOf(at);
    if (isFirst) pen.lines([0, y + 0.5, 10_000, y + 0.5], { colour: palette["line-strong"], opacity: 0.5 });
    // The first that is seen of a worker names it, also when its first slot is above.
    if (isFirst || at === 0)
      pen.text(0, y + ROW_PX / 2, worker, {
        colour: palette.text,
        size: LETTERS_PX + 1,
        maxWidth: width - 34,
      });
    const slot = { colour: palette.quiet, size: LETTERS_PX, align: "right" as const };
    pen.text(width - 8, y + ROW_PX / 2, String(lane + 1), slot);
  }
}

/** What is drawn alike is drawn at once. */
class Bars {
  readonly #scale: TimeScale;
  readonly #now: number;
  readonly #places: StreamView["places"];
  readonly #palette: Palette;
  /** By type, what began, and what is not known to have begun. */
  readonly #fills = new Map<string, number[]>();
  readonly #given = new Map<string, number[]>();
  readonly #faint: number[] = [];
  readonly #onTheirWay: number[] = [];
  readonly #lost: number[] = [];
  readonly #failed: number[] = [];
  readonly #transfers: number[] = [];
  readonly #words: { x: number; y: number; width: number; text: string; isFilled: boolean }[] = [];

  constructor({ scale, now, places }: StreamView, palette: Palette) {
    this.#scale = scale;
    this.#now = now;
    this.#places = places;
    this.#palette = palette;
  }

  add(attempt: Attempt, y: number): void {
    const { from, to } = this.#scale;
    const end = attempt.ended ?? this.#now;
    if (end < from || attempt.assigned > to) return;
    const x = (at: number) => xOf(this.#scale, at);
    const start = attempt.started ?? attempt.assigned;
    if (start > attempt.assigned)
      this.#onTheirWay.push(x(attempt.assigned), y + BAR_PX / 2, x(start), y + BAR_PX / 2);
    for (const { began, tookMs } of attempt.transfers)
      this.#transfers.push(x(began), y - 1, Math.max(LEAST_PX, x(began + tookMs) - x(began)), TRANSFER_PX);
    const left = x(start);
    const width = Math.max(LEAST_PX, x(end) - left - (attempt.ended === null ? 0 : 0.5));
    this.#addBar(attempt, left, y, width);
  }

  #addBar({ outcome, type, node, started }: Attempt, x: number, y: number, width: number): void {
    const shape = SHAPES[outcome];
    if (outcome === "other work") this.#faint.push(x, y, width, BAR_PX);
    else if (outcome === "lost") this.#lost.push(x + 0.5, y + 0.5, Math.max(LEAST_PX, width - 1), BAR_PX - 1);
    else if (outcome === "cancelled") put(this.#fills, type, [x, y + BAR_PX / 2, width, BAR_PX / 2]);
    else put(started === null ? this.#given : this.#fills, type, [x, y, width, BAR_PX]);
    if (outcome === "failed" || outcome === "timed out")
      this.#failed.push(x, y + BAR_PX - 4, Math.max(FAILED_PX, width), 4);
    const isFilled = outcome !== "lost" && outcome !== "cancelled";
    const middle = y + BAR_PX / 2;
    // What began before what is shown is named where it is seen.
    const seen = Math.max(x, this.#scale.left);
    const room = width - (seen - x);
    const name = outcome === "other work" ? "" : (node ?? type);
    if (room >= WORTH_A_WORD_PX) {
      const text = shape === undefined ? name : `${shape} ${name}`;
      this.#words.push({ x: seen + 4, y: middle, width: room - 8, text, isFilled });
    } else if (shape !== undefined && room >= WORTH_A_SHAPE_PX)
      this.#words.push({ x: seen + 1, y: middle, width: room, text: shape, isFilled });
  }

  paint(pen: Pen): void {
    const palette = this.#palette;
    const isDark = isDarkColour(palette.surface);
    const colourOf = (type: string) => colourAt(this.#places.get(type) ?? 0, isDark);
    pen.lines(this.#onTheirWay, { colour: palette["dispatch-bar"], width: 2 });
    pen.fill(this.#faint, { colour: palette["waiting-bar"], opacity: 0.6 });
    for (const [type, boxes] of this.#fills) pen.fill(boxes, { colour: colourOf(type) });
    for (const [type, boxes] of this.#given) pen.fill(boxes, { colour: colourOf(type), opacity: 0.55 });
    pen.fill(this.#failed, { colour: palette["failed-bar"] });
    pen.outline(this.#lost, { colour: palette.failed, width: 1, isDashed: true });
    pen.fill(this.#transfers, { colour: palette.text });
    for (const { x, y, width, text, isFilled } of this.#words)
      pen.text(x, y, text, {
        colour: isFilled ? palette.surface : palette.text,
        size: LETTERS_PX,
        maxWidth: width,
      });
  }
}

function put(boxes: Map<string, number[]>, type: string, box: readonly number[]): void {
  const known = boxes.get(type);
  if (known) known.push(...box);
  else boxes.set(type, [...box]);
}

/** What is drawn at a place; undefined: nothing, or the names of the rows. */
export function attemptAt(
  rows: readonly StreamRow[],
  { scale, top, now }: StreamView,
  x: number,
  y: number,
): Attempt | undefined {
  if (y < AXIS_PX || x < scale.left) return undefined;
  const row = rows[Math.floor((y - AXIS_PX + top) / ROW_PX)];
  const at = timeAt(scale, x);
  const nearMs = timeAt(scale, x + 2) - at;
  return row?.attempts.findLast(
    ({ assigned, ended }) => assigned - nearMs <= at && (ended ?? now) + nearMs >= at,
  );
}

function isDarkColour(colour: string): boolean {
  return Number.parseInt(colour.slice(1, 3), 16) < 0x80;
}
