import { type KeyboardEvent, useCallback, useEffect, useState } from "react";
import { Picture, type Size } from "../../parts/picture/picture.tsx";
import { ZoomButtons, zoomKey } from "../../parts/picture/zoom-buttons.tsx";
import { Caption } from "./caption.tsx";
import { paintGraph } from "./graph-painter.ts";
import { type Layout, NODE_HEIGHT, NODE_WIDTH, nodeAt } from "./layout.ts";
import type { Marks } from "./marks.ts";
import type { RunModel } from "./model.ts";
import { fitted, panned, showing, type View, zoomed } from "./view.ts";

interface GraphPictureProps extends Marks {
  readonly model: RunModel;
  readonly layout: Layout;
  /** In milliseconds after the run was submitted. */
  readonly now: number;
}

/** The graph of a run, to be moved and zoomed. */
export function GraphPicture({
  model,
  layout,
  now,
  selected,
  hovered,
  onSelect,
  onHover,
  onPaint,
}: GraphPictureProps) {
  const [size, setSize] = useState<Size>();
  const [view, setView] = useState<View>();
  useEffect(() => {
    if (size) setView(fitted(layout, size));
  }, [layout, size]);
  useEffect(() => {
    if (selected === undefined || !size) return;
    const [x, y] = [layout.x[selected], layout.y[selected]];
    if (x === undefined || y === undefined) return;
    const box = { x, y, width: NODE_WIDTH, height: NODE_HEIGHT };
    setView((before) => before && showing(before, box, layout, size));
  }, [selected, layout, size]);
  const paint = useCallback<Parameters<typeof onPaint>[0]>(
    (pen, at, palette) => {
      if (view) paintGraph(pen, at, palette, { model, layout, view, selected, hovered });
    },
    [model, layout, view, selected, hovered],
  );
  useEffect(() => {
    onPaint(paint, size);
    return () => onPaint(paint, undefined);
  }, [onPaint, paint, size]);
  const move = (byX: number, byY: number): boolean => {
    if (!view || !size) return false;
    const next = panned(view, byX, byY, layout, size);
    setView(next);
    return next.x !== view.x || next.y !== view.y;
  };
  const zoomAt = (factor: number, x: number, y: number) => {
    if (size) setView((before) => before && zoomed(before, factor, x, y, layout, size));
  };
  const zoom = {
    onZoom: (factor: number) => zoomAt(factor, (size?.width ?? 0) / 2, (size?.height ?? 0) / 2),
    onFit: () => size && setView(fitted(layout, size)),
  };
  const at = (x: number, y: number) =>
    view && nodeAt(layout, (x - view.x) / view.scale, (y - view.y) / view.scale);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = neighbour(event.key, selected, model, layout);
    if (next !== undefined) onSelect(next);
    else if (event.key === "Escape") onSelect(undefined);
    else if (!zoomKey(event.key, zoom)) return;
    event.preventDefault();
  };
  return (
    <div className="picture-frame" data-frame="graph" data-view={view && `${view.x} ${view.y} ${view.scale}`}>
      <Picture
        name="graph"
        label={`Graph of ${model.shape.size} nodes; the table has the same. Arrow keys go from node to node.`}
        paint={paint}
        onSize={setSize}
        onPan={move}
        onZoom={zoomAt}
        onHover={(place) => onHover(place && at(...place))}
        onPick={(x, y) => onSelect(at(x, y))}
        onOpen={(x, y) => zoomAt(2, x, y)}
        onKeyDown={onKeyDown}
      />
      <Caption model={model} node={hovered} now={now} />
      <ZoomButtons {...zoom} />
    </div>
  );
}

/** The node that an arrow leads to: along an edge, or up and down in the column. */
function neighbour(
  key: string,
  selected: number | undefined,
  { shape }: RunModel,
  { columns }: Layout,
): number | undefined {
  if (!key.startsWith("Arrow")) return undefined;
  if (selected === undefined) return columns[0]?.nodes[0];
  if (key === "ArrowRight") return shape.dependents.of(selected)[0] ?? selected;
  if (key === "ArrowLeft") return shape.needs.of(selected)[0] ?? selected;
  const column = columns.find(({ nodes }) => nodes.includes(selected))?.nodes ?? [];
  return column[column.indexOf(selected) + (key === "ArrowDown" ? 1 : -1)] ?? selected;
}
