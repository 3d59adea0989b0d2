import type { Palette } from "../../parts/picture/palette.ts";
import type { Pen } from "../../parts/picture/pen.ts";
import type { Size } from "../../parts/picture/picture.tsx";
import { shapeOf } from "../../parts/status-shapes.ts";
import { type Layout, NODE_HEIGHT, NODE_WIDTH, nodesIn } from "./layout.ts";
import type { RunModel } from "./model.ts";
import { NODE_STATUSES, statusOf } from "./standing.ts";
import { fillOf } from "./status-colours.ts";
import type { View } from "./view.ts";

export interface GraphScene {
  readonly model: RunModel;
  readonly layout: Layout;
  readonly view: View;
  readonly selected: number | undefined;
  readonly hovered: number | undefined;
}

/** From this scale on names can be read. */
const NEAR = 0.5;
/** So many edges are drawn at most: more make one grey area, and take long. */
const MOST_EDGES = 2500;
/** From this scale on a shape fits into a box, as long as there are not too many. */
const MIDDLE = 0.26;
const MOST_SHAPES = 600;
const CHIP = 22;

/** The graph as it is seen: far away as coloured boxes, near with names and shapes. */
export function paintGraph(pen: Pen, size: Size, palette: Palette, scene: GraphScene): void {
  const seen = seenNodes(scene, size);
  const isNear = scene.view.scale >= NEAR;
  paintEdges(pen, palette, scene, seen, size);
  if (isNear) for (const node of seen) paintNode(pen, palette, scene, node);
  else paintBoxes(pen, palette, scene, seen);
  paintMarks(pen, palette, scene);
}

function seenNodes({ layout, view }: GraphScene, { width, height }: Size): number[] {
  const { x, y, scale } = view;
  return nodesIn(layout, {
    left: -x / scale,
    top: -y / scale,
    right: (width - x) / scale,
    bottom: (height - y) / scale,
  });
}

/** Of the nodes that are seen, what leads to them and away; of too many every so many-th. */
function paintEdges(
  pen: Pen,
  palette: Palette,
  scene: GraphScene,
  seen: readonly number[],
  size: Size,
): void {
  const { model, view } = scene;
  const drawn = seen.length * 4 < model.shape.size ? edgesOf(model, seen) : everyEdge(model);
  const step = Math.ceil(drawn.length / MOST_EDGES);
  const some = step > 1 ? drawn.filter((edge) => edge % step === 0) : drawn;
  const isFar = view.scale < NEAR / 3;
  const faint = { colour: palette["line-strong"], opacity: isFar ? 0.25 : 0.55 };
  strokeEdges(pen, scene, some, size, isFar, faint);
  const strong = { colour: palette["dispatch-bar"], width: isFar ? 1.5 : 2 };
  strokeEdges(pen, scene, model.criticalEdges, size, isFar, strong);
}

/** Of a large graph no more than are drawn. */
function everyEdge({ shape }: RunModel): number[] {
  const count = shape.edges.length / 2;
  const step = Math.max(1, Math.ceil(count / MOST_EDGES));
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
}

/** The edges of some nodes. */
function edgesOf({ shape }: RunModel, nodes: readonly number[]): number[] {
  const found = new Set<number>();
  for (const node of nodes) {
    for (const edge of shape.edgesTo.of(node)) found.add(edge);
    for (const edge of shape.edgesFrom.of(node)) found.add(edge);
  }
  return [...found];
}

function strokeEdges(
  pen: Pen,
  { model, layout, view }: GraphScene,
  edges: readonly number[],
  size: Size,
  isFar: boolean,
  stroke: { readonly colour: string; readonly width?: number; readonly opacity?: number },
): void {
  const curves: number[] = [];
  const straight: number[] = [];
  for (const edge of edges) {
    const [from, to] = [model.shape.edges[2 * edge] as number, model.shape.edges[2 * edge + 1] as number];
    let x = view.x + ((layout.x[from] as number) + NODE_WIDTH) * view.scale;
    let y = view.y + ((layout.y[from] as number) + NODE_HEIGHT / 2) * view.scale;
    const bends = layout.bends.get(edge) ?? [];
    for (let at = 0; at <= bends.length; at += 2) {
      const isLast = at === bends.length;
      const nextX = view.x + (isLast ? (layout.x[to] as number) : (bends[at] as number)) * view.scale;
      const atY = isLast ? (layout.y[to] as number) + NODE_HEIGHT / 2 : (bends[at + 1] as number);
      const nextY = view.y + atY * view.scale;
      const isAside =
        nextX < 0 || x > size.width || Math.max(y, nextY) < 0 || Math.min(y, nextY) > size.height;
      if (!isAside) (isFar ? straight : curves).push(x, y, nextX, nextY);
      if (isLast) break;
      // It passes the column level.
      x = nextX + NODE_WIDTH * view.scale;
      y = nextY;
      straight.push(nextX, nextY, x, y);
    }
  }
  if (curves.length > 0) pen.curves(curves, stroke);
  if (straight.length > 0) pen.lines(straight, stroke);
}

/** All boxes of one colour in one stroke. What failed is never too small to be seen. */
function paintBoxes(
  pen: Pen,
  palette: Palette,
  { model, layout, view }: GraphScene,
  seen: readonly number[],
): void {
  const boxes = NODE_STATUSES.map((): number[] => []);
  const outlined: number[] = [];
  const failed = NODE_STATUSES.indexOf("failed");
  const [width, height] = [NODE_WIDTH * view.scale, NODE_HEIGHT * view.scale];
  for (const node of seen) {
    const status = model.standing.status[node] as number;
    const least = status === failed ? 4 : 1;
    const x = view.x + (layout.x[node] as number) * view.scale;
    const y = view.y + (layout.y[node] as number) * view.scale;
    boxes[status]?.push(x, y, Math.max(least, width), Math.max(least, height));
    if (model.isCritical[node]) outlined.push(x, y, Math.max(least, width), Math.max(least, height));
  }
  for (const [at, status] of NODE_STATUSES.entries())
    if ((boxes[at] as number[]).length > 0)
      pen.fill(boxes[at] as number[], { colour: fillOf(status, palette) });
  if (outlined.length > 0) pen.outline(outlined, { colour: palette["dispatch-bar"], width: 1.5 });
  if (view.scale < MIDDLE || seen.length > MOST_SHAPES) return;
  for (const node of seen) {
    const x = view.x + ((layout.x[node] as number) + NODE_WIDTH / 2) * view.scale;
    const y = view.y + ((layout.y[node] as number) + NODE_HEIGHT / 2) * view.scale;
    const lettering = {
      colour: palette.surface,
      size: 18 * view.scale,
      align: "center" as const,
      isBold: true,
    };
    pen.text(x, y, shapeOf(statusOf(model.standing, node)), lettering);
  }
}

function paintNode(pen: Pen, palette: Palette, scene: GraphScene, node: number): void {
  const { model, view } = scene;
  const { scale } = view;
  const [x, y, width, height] = boxOf(scene, node);
  const status = statusOf(model.standing, node);
  const colour = fillOf(status, palette);
  const radius = 5 * scale;
  const isWaiting = status === "waiting" || status === "unknown";
  pen.fill([x, y, width, height], { colour: palette.surface, radius });
  if (!isWaiting) pen.fill([x, y, CHIP * scale, height], { colour, radius });
  pen.outline(
    [x, y, width, height],
    model.isCritical[node]
      ? { colour: palette["dispatch-bar"], width: 2 }
      : { colour: isWaiting ? palette["line-strong"] : colour, isDashed: isWaiting },
    radius,
  );
  const middle = y + height / 2;
  pen.text(x + (CHIP / 2) * scale, middle, shapeOf(status), {
    colour: isWaiting ? palette.quiet : palette.surface,
    size: 13 * scale,
    align: "center",
    isBold: true,
  });
  const isTried = model.standing.tried.has(node);
  const mark = isTried ? "⑂" : model.standing.added.has(node) ? "⊞" : "";
  const room = width - (CHIP + 8 + (mark === "" ? 0 : 14)) * scale;
  pen.text(x + (CHIP + 5) * scale, middle, model.shape.ids[node] ?? "", {
    colour: palette.text,
    size: 12 * scale,
    maxWidth: room,
  });
  if (mark !== "")
    pen.text(x + width - 6 * scale, middle, mark, {
      colour: palette.quiet,
      size: 13 * scale,
      align: "right",
    });
}

/** What is pointed at and what is selected, with all that it needs and that needs it. */
function paintMarks(pen: Pen, palette: Palette, scene: GraphScene): void {
  const { selected, hovered, model } = scene;
  const everywhere = { width: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY };
  for (const node of new Set([selected, hovered])) {
    if (node === undefined || node >= model.shape.size) continue;
    const edges = edgesOf(model, [node]).slice(0, MOST_EDGES);
    strokeEdges(pen, scene, edges, everywhere, scene.view.scale < NEAR / 3, {
      colour: palette.accent,
      width: 1.5,
      opacity: node === selected ? 1 : 0.7,
    });
  }
  for (const [node, width] of [[hovered, 1.5] as const, [selected, 3] as const]) {
    if (node === undefined || node >= model.shape.size) continue;
    const [x, y, boxWidth, height] = boxOf(scene, node);
    const around = [x - 2, y - 2, Math.max(4, boxWidth) + 4, Math.max(4, height) + 4];
    pen.outline(around, { colour: palette.accent, width }, 6 * Math.min(1, scene.view.scale));
  }
}

function boxOf({ layout, view }: GraphScene, node: number): [number, number, number, number] {
  return [
    view.x + (layout.x[node] as number) * view.scale,
    view.y + (layout.y[node] as number) * view.scale,
    NODE_WIDTH * view.scale,
    NODE_HEIGHT * view.scale,
  ];
}
