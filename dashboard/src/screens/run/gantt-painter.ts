import type { Palette } from "../../parts/picture/palette.ts";
import type { Pen } from "../../parts/picture/pen.ts";
import type { Size } from "../../parts/picture/picture.tsx";
import { AXIS_PX, paintTimeAxis } from "../../parts/picture/time-axis.ts";
import { type TimeScale, xOf } from "../../parts/picture/time-scale.ts";
import { shapeOf } from "../../parts/status-shapes.ts";
import type { TimeMode } from "../../time/time.tsx";
import { type RunModel, readyAtOf } from "./model.ts";
import { estimateMsOf } from "./shape.ts";
import { isOver, statusOf } from "./standing.ts";
import { fillOf } from "./status-colours.ts";

export interface GanttScene {
  readonly model: RunModel;
  /** Nodes from top to bottom. */
  readonly rows: readonly number[];
  /** In milliseconds after the run was submitted. */
  readonly scale: TimeScale;
  /** Pixels of the rows that are above what is seen. */
  readonly top: number;
  readonly now: number;
  readonly mode: TimeMode;
  readonly selected: number | undefined;
  readonly hovered: number | undefined;
}

export const ROW_PX = 22;
const BAR_PX = 11;
const PLAN_PX = 3;
const LETTERS_PX = 12;

/** A row for each node: what it waited, when it ran, and below that how long it was estimated to, or when it is planned. */
export function paintGantt(pen: Pen, size: Size, palette: Palette, scene: GanttScene): void {
  const { rows, scale, top, model, mode } = scene;
  const first = Math.max(0, Math.floor(top / ROW_PX));
  const last = Math.min(rows.length, Math.ceil((top + size.height - AXIS_PX) / ROW_PX));
  const seen = rows.slice(first, last);
  const yOf = (place: number) => AXIS_PX + (first + place) * ROW_PX - top;
  pen.within(0, AXIS_PX, size.width, size.height - AXIS_PX, () => {
    for (const [place, node] of seen.entries()) paintBackground(pen, size, palette, scene, node, yOf(place));
  });
  paintTimeAxis(
    pen,
    { ...scale, from: scale.from + model.submittedAt, to: scale.to + model.submittedAt },
    palette,
    {
      mode,
      origin: model.submittedAt,
      height: size.height,
    },
  );
  pen.within(scale.left, AXIS_PX, scale.width, size.height - AXIS_PX, () => {
    for (const [place, node] of seen.entries()) paintTimes(pen, palette, scene, node, yOf(place));
    if (model.run.completed_at === null) {
      const x = xOf(scale, scene.now);
      pen.lines([x, AXIS_PX, x, size.height], { colour: palette.accent, width: 1.5 });
    }
  });
  pen.within(0, AXIS_PX, scale.left - 6, size.height - AXIS_PX, () => {
    for (const [place, node] of seen.entries()) paintName(pen, palette, scene, node, yOf(place));
  });
}

function paintBackground(
  pen: Pen,
  { width }: Size,
  palette: Palette,
  { selected, hovered }: GanttScene,
  node: number,
  y: number,
): void {
  if (node === selected) pen.fill([0, y, width, ROW_PX], { colour: palette.selected });
  else if (node === hovered) pen.fill([0, y, width, ROW_PX], { colour: palette.hover });
}

function paintName(pen: Pen, palette: Palette, { model, scale }: GanttScene, node: number, y: number): void {
  const status = statusOf(model.standing, node);
  const middle = y + ROW_PX / 2;
  const isCritical = model.isCritical[node] === 1;
  if (isCritical) pen.fill([0, y + 2, 3, ROW_PX - 4], { colour: palette["dispatch-bar"] });
  const colour = status === "waiting" || status === "unknown" ? palette.quiet : fillOf(status, palette);
  pen.text(15, middle, shapeOf(status), { colour, size: LETTERS_PX, align: "center", isBold: true });
  pen.text(27, middle, model.shape.ids[node] ?? "", {
    colour: palette.text,
    size: LETTERS_PX,
    isBold: isCritical,
    maxWidth: scale.left - 36,
  });
}

function paintTimes(pen: Pen, palette: Palette, scene: GanttScene, node: number, y: number): void {
  const { model, scale, now } = scene;
  const { standing } = model;
  const status = statusOf(standing, node);
  const started = standing.started[node] as number;
  const ended = standing.ended[node] as number;
  const middle = y + ROW_PX / 2 - 1;
  const readyAt = readyAtOf(model, node);
  const waitedTo = started >= 0 ? started : ended >= 0 ? ended : now;
  if (readyAt !== undefined && waitedTo > readyAt)
    pen.lines([xOf(scale, readyAt), middle, xOf(scale, waitedTo), middle], {
      colour: palette["waiting-bar"],
      width: 2,
    });
  if (started >= 0) {
    const end = ended >= 0 ? ended : Math.max(started, now);
    const x = xOf(scale, started);
    const box = [x, middle - BAR_PX / 2, Math.max(2, xOf(scale, end) - x), BAR_PX];
    pen.fill(box, { colour: fillOf(status, palette), radius: 2 });
    // What failed is told by its shape as well.
    if (status === "failed")
      pen.text(x + (box[2] as number) + 8, middle, shapeOf(status), {
        colour: palette.failed,
        size: 11,
        align: "center",
      });
    const planEnd = isOver(status)
      ? started + estimateMsOf(model.shape, node)
      : (model.plannedEnd[node] as number);
    const planTo = planEnd >= 0 ? planEnd : started + estimateMsOf(model.shape, node);
    pen.fill([x, y + ROW_PX - PLAN_PX - 1, Math.max(2, xOf(scale, planTo) - x), PLAN_PX], {
      colour: palette["line-strong"],
    });
  } else if ((model.plannedStart[node] as number) >= 0 && !isOver(status)) {
    const x = xOf(scale, Math.max(model.plannedStart[node] as number, now));
    const width = Math.max(3, xOf(scale, model.plannedEnd[node] as number) - x);
    pen.outline(
      [x, middle - BAR_PX / 2, width, BAR_PX],
      { colour: model.isCritical[node] ? palette["dispatch-bar"] : palette["line-strong"], isDashed: true },
      2,
    );
  } else if (ended >= 0) {
    pen.text(xOf(scale, ended), middle, shapeOf(status), {
      colour: fillOf(status, palette),
      size: LETTERS_PX,
      align: "center",
    });
  }
}
