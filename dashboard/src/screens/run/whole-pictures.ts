import type { Palette } from "../../parts/picture/palette.ts";
import type { Paint, Size } from "../../parts/picture/picture.tsx";
import { SvgPen } from "../../parts/picture/svg-pen.ts";
import { AXIS_PX } from "../../parts/picture/time-axis.ts";
import type { TimeMode } from "../../time/time.tsx";
import { paintGantt, ROW_PX } from "./gantt-painter.ts";
import { ganttRows } from "./gantt-rows.ts";
import { paintGraph } from "./graph-painter.ts";
import type { Layout } from "./layout.ts";
import { lastMomentOf, type RunModel } from "./model.ts";
import { fitted } from "./view.ts";

const WIDTH = 1200;
const NAMES_PX = 200;
/** More rows than anybody scrolls through; the table has all. */
export const MOST_ROWS = 400;

const nothing = { selected: undefined, hovered: undefined };

export function svgOf(paint: Paint, size: Size, palette: Palette, title: string): string {
  const pen = new SvgPen();
  paint(pen, size, palette);
  return pen.toString(Math.round(size.width), Math.round(size.height), title, palette.surface);
}

/** All of the graph, whatever of it is seen now. */
export function wholeGraph(model: RunModel, layout: Layout, palette: Palette): string {
  const share = layout.height / Math.max(1, layout.width);
  const size = { width: WIDTH, height: Math.min(900, Math.max(120, Math.round(WIDTH * share) + 40)) };
  const view = fitted(layout, size);
  const paint: Paint = (pen, at, colours) =>
    paintGraph(pen, at, colours, { model, layout, view, ...nothing });
  return svgOf(paint, size, palette, `Graph of ${model.run.name}`);
}

/** All of the time, and the first rows. */
export function wholeGantt(model: RunModel, now: number, mode: TimeMode, palette: Palette): string {
  const rows = ganttRows(model).slice(0, MOST_ROWS);
  const size = { width: WIDTH, height: AXIS_PX + rows.length * ROW_PX + 4 };
  const to = lastMomentOf(model, now) * 1.03;
  const scale = { from: 0, to, left: NAMES_PX, width: WIDTH - NAMES_PX - 14 };
  const paint: Paint = (pen, at, colours) =>
    paintGantt(pen, at, colours, { model, rows, scale, top: 0, now, mode, ...nothing });
  return svgOf(paint, size, palette, `When the nodes of ${model.run.name} ran`);
}
