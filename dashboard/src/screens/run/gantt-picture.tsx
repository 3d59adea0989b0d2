import { type KeyboardEvent, useCallback, useEffect, useMemo, useState } from "react";
import { useKept } from "../../parts/kept.ts";
import { Picture, type Size } from "../../parts/picture/picture.tsx";
import { AXIS_PX } from "../../parts/picture/time-axis.ts";
import { pannedTime, type TimeScale, zoomedTime } from "../../parts/picture/time-scale.ts";
import { ZoomButtons, zoomKey } from "../../parts/picture/zoom-buttons.tsx";
import { timeMode } from "../../time/time.tsx";
import { Caption } from "./caption.tsx";
import { paintGantt, ROW_PX } from "./gantt-painter.ts";
import { ganttRows } from "./gantt-rows.ts";
import type { Marks } from "./marks.ts";
import { lastMomentOf, type RunModel } from "./model.ts";

interface GanttPictureProps extends Marks {
  readonly model: RunModel;
  /** In milliseconds after the run was submitted. */
  readonly now: number;
}

/** The last rows can be scrolled clear of the buttons. */
const BUTTONS_PX = 40;

/** A part of the time that was chosen; undefined: all of it, as it grows. */
type Chosen = { readonly from: number; readonly to: number } | undefined;

/** When each node ran, or is planned to, on one axis. */
export function GanttPicture({
  model,
  now,
  selected,
  hovered,
  onSelect,
  onHover,
  onPaint,
}: GanttPictureProps) {
  const mode = useKept(timeMode);
  const [size, setSize] = useState<Size>();
  const [chosen, setChosen] = useState<Chosen>();
  const [scrolled, setScrolled] = useState(0);
  const rows = useMemo(() => ganttRows(model), [model]);
  const last = lastMomentOf(model, now);
  const limits = useMemo(() => [0, last * 1.03] as const, [last]);
  const scale = useMemo<TimeScale>(() => {
    const width = size?.width ?? 0;
    const left = Math.min(200, Math.max(96, width * 0.22));
    const { from, to } = chosen ?? { from: limits[0], to: limits[1] };
    return { from, to, left, width: Math.max(1, width - left - 14) };
  }, [size, chosen, limits]);
  const room = Math.max(0, rows.length * ROW_PX + BUTTONS_PX - ((size?.height ?? 0) - AXIS_PX));
  const top = Math.min(scrolled, room);
  const placeOf = useMemo(() => {
    const places = new Uint32Array(rows.length);
    for (const [place, node] of rows.entries()) places[node] = place;
    return places;
  }, [rows]);
  // Only when another is selected: rows that move take nobody along.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    const place = selected === undefined ? undefined : placeOf[selected];
    if (place === undefined || !size) return;
    const seen = size.height - AXIS_PX;
    const at = place * ROW_PX;
    setScrolled((before) =>
      at < before || at + ROW_PX > before + seen ? Math.max(0, at - seen / 2) : before,
    );
  }, [selected, size]);
  const paint = useCallback<Parameters<typeof onPaint>[0]>(
    (pen, at, palette) =>
      paintGantt(pen, at, palette, { model, rows, scale, top, now, mode, selected, hovered }),
    [model, rows, scale, top, now, mode, selected, hovered],
  );
  useEffect(() => {
    onPaint(paint, size);
    return () => onPaint(paint, undefined);
  }, [onPaint, paint, size]);
  const move = (byX: number, byY: number): boolean => {
    const next = pannedTime(scale, byX, limits);
    const isMoved = Math.abs(next.from - scale.from) > 1e-6;
    if (isMoved) setChosen(next);
    const down = Math.min(room, Math.max(0, top - byY));
    setScrolled(down);
    return isMoved || down !== top;
  };
  const zoomAt = (factor: number, x: number) => {
    const next = zoomedTime(scale, factor, Math.max(x, scale.left), limits);
    setChosen(next.to - next.from >= limits[1] - limits[0] - 1e-6 ? undefined : next);
  };
  const zoom = {
    onZoom: (factor: number) => zoomAt(factor, scale.left + scale.width / 2),
    onFit: () => setChosen(undefined),
  };
  const at = (_x: number, y: number) =>
    y < AXIS_PX ? undefined : rows[Math.floor((y - AXIS_PX + top) / ROW_PX)];
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const place = selected === undefined ? -1 : (placeOf[selected] ?? -1);
      onSelect(rows[Math.min(rows.length - 1, Math.max(0, place + step))]);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
      move(event.key === "ArrowLeft" ? 80 : -80, 0);
    else if (event.key === "Escape") onSelect(undefined);
    else if (!zoomKey(event.key, zoom)) return;
    event.preventDefault();
  };
  return (
    <div
      className="picture-frame"
      data-frame="gantt"
      data-top={top}
      data-scale={`${scale.from} ${scale.to} ${scale.left} ${scale.width}`}
    >
      <Picture
        name="gantt"
        label={`When each of ${rows.length} nodes ran; the table has the same. Up and down go from node to node.`}
        paint={paint}
        onSize={setSize}
        onPan={move}
        onZoom={zoomAt}
        onHover={(place) => onHover(place && at(...place))}
        onPick={(x, y) => onSelect(at(x, y))}
        onKeyDown={onKeyDown}
      />
      <Caption model={model} node={hovered} now={now} />
      <ZoomButtons {...zoom} />
    </div>
  );
}
