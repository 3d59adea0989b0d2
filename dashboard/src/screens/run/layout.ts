/**
 * Places the nodes of a graph in columns, from left to right: each behind all that it needs. By the same graph always the
 * same places, so that two who look at a run see the same picture.
 *
 * In steps that are known to work: the layer of a node is the longest way to it; the order within layers is improved by
 * going over them with the mean place of each node's neighbours; long edges have a place of their own in each layer that they
 * cross; and the heights are those nearest to the neighbours' that keep the order and the distance, which is found exactly
 * (isotonic regression by pooling neighbours that would overlap). Layers with very many nodes are folded into several columns.
 */

export const NODE_WIDTH = 148;
export const NODE_HEIGHT = 26;
const COLUMN_GAP = 56;
/** Between the columns of one layer, which no edge connects. */
const FOLD_GAP = 14;
const ROW_GAP = 10;
/** What an edge takes that only passes. */
const PASSING_HEIGHT = 6;
const SWEEPS = 4;
const SETTLINGS = 4;

export interface GraphShape {
  readonly size: number;
  /** Indexes in pairs: what is needed, and who needs it. */
  readonly edges: ArrayLike<number>;
}

export interface Layout {
  /** The left upper corner of each node. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** For edges that pass columns, where they do, as x and y in turn. */
  readonly bends: ReadonlyMap<number, readonly number[]>;
  /** Nodes from top to bottom, by column from left to right: what is looked at is found by these. */
  readonly columns: readonly Column[];
  readonly width: number;
  readonly height: number;
}

export interface Column {
  readonly x: number;
  readonly nodes: readonly number[];
}

export function layOut(shape: GraphShape): Layout {
  const items = itemsOf(shape);
  const layers = orderedLayers(items);
  const columns = layers.flatMap((layer) => folded(layer, rowsIn(shape.size)));
  const x = xOf(columns);
  const y = settled(items, columns);
  return placed(shape, items, columns, x, y);
}

/** Nodes, and behind them the places of edges that pass a layer; each is connected to the next layer only, if there are any. */
interface Items {
  readonly nodes: number;
  readonly layer: readonly number[];
  readonly before: readonly (readonly number[])[];
  readonly after: readonly (readonly number[])[];
  /** By edge, the items that it passes, if there are any. */
  readonly passing: ReadonlyMap<number, readonly number[]>;
}

function itemsOf({ size, edges }: GraphShape): Items {
  const layer = layersOf(size, edges);
  const before: number[][] = Array.from({ length: size }, () => []);
  const after: number[][] = Array.from({ length: size }, () => []);
  const passing = new Map<number, number[]>();
  const link = (from: number, to: number) => {
    (after[from] as number[]).push(to);
    (before[to] as number[]).push(from);
  };
  const mayPass = passes(edges, layer) <= 2 * size + 200;
  for (let at = 0; at < edges.length; at += 2) {
    const [from, to] = [edges[at] as number, edges[at + 1] as number];
    const between: number[] = [];
    let last = from;
    for (let of = (layer[from] as number) + 1; mayPass && of < (layer[to] as number); of++) {
      const item = layer.push(of) - 1;
      before.push([]);
      after.push([]);
      link(last, item);
      between.push(item);
      last = item;
    }
    link(last, to);
    if (between.length > 0) passing.set(at / 2, between);
  }
  return { nodes: size, layer, before, after, passing };
}

function passes(edges: ArrayLike<number>, layer: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < edges.length; at += 2)
    sum += (layer[edges[at + 1] as number] as number) - (layer[edges[at] as number] as number) - 1;
  return sum;
}

/** The longest way to each node; what needs nothing stands directly before the first that needs it. */
function layersOf(size: number, edges: ArrayLike<number>): number[] {
  const after: number[][] = Array.from({ length: size }, () => []);
  const open = new Uint32Array(size);
  for (let at = 0; at < edges.length; at += 2) {
    (after[edges[at] as number] as number[]).push(edges[at + 1] as number);
    (open[edges[at + 1] as number] as number)++;
  }
  const layer = new Array<number>(size).fill(0);
  const isFirst = Array.from(open, (count) => count === 0);
  const order = isFirst.flatMap((first, node) => (first ? [node] : []));
  for (let at = 0; at < order.length; at++) {
    const node = order[at] as number;
    for (const next of after[node] as number[]) {
      layer[next] = Math.max(layer[next] as number, (layer[node] as number) + 1);
      if (--(open[next] as number) === 0) order.push(next);
    }
  }
  for (let node = 0; node < size; node++) {
    const nexts = after[node] as number[];
    if (!isFirst[node] || nexts.length === 0) continue;
    let first = Number.POSITIVE_INFINITY;
    for (const next of nexts) first = Math.min(first, layer[next] as number);
    layer[node] = first - 1;
  }
  return layer;
}

/** Layers from left to right, each from top to bottom. */
function orderedLayers({ layer, before, after }: Items): number[][] {
  const layers: number[][] = [];
  for (const [item, of] of layer.entries()) {
    while (layers.length <= of) layers.push([]);
    (layers[of] as number[]).push(item);
  }
  const place = new Float64Array(layer.length);
  for (const one of layers) note(one, place);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    const neighbours = isForward ? before : after;
    for (const one of isForward ? layers : layers.toReversed()) {
      const means = new Map(one.map((item) => [item, meanOf(neighbours[item] as number[], place, item)]));
      one.sort(
        (a, b) =>
          (means.get(a) as number) - (means.get(b) as number) || (place[a] as number) - (place[b] as number),
      );
      note(one, place);
    }
  }
  return layers;
}

/** Shares of the height, since layers have different numbers of nodes. */
function note(layer: readonly number[], place: Float64Array): void {
  for (const [at, item] of layer.entries()) place[item] = (at + 0.5) / layer.length;
}

/** Its own place where it has no neighbours. */
function meanOf(neighbours: readonly number[], place: Float64Array, item: number): number {
  if (neighbours.length === 0) return place[item] as number;
  let sum = 0;
  for (const one of neighbours) sum += place[one] as number;
  return sum / neighbours.length;
}

/** About three times as wide as high. */
function rowsIn(size: number): number {
  return Math.max(24, Math.ceil(Math.sqrt(3 * size)));
}

interface Stack {
  readonly items: readonly number[];
  /** It is the first of its layer. */
  readonly isFirst: boolean;
}

/** In turn to one column after the other, so that what is at the top stays there. */
function folded(layer: readonly number[], rows: number): Stack[] {
  const count = Math.ceil(layer.length / rows);
  return Array.from({ length: count }, (_, column) => ({
    items: layer.filter((_item, at) => at % count === column),
    isFirst: column === 0,
  }));
}

function xOf(columns: readonly Stack[]): number[] {
  let next = 0;
  return columns.map(({ isFirst }, at) => {
    if (at > 0) next += NODE_WIDTH + (isFirst ? COLUMN_GAP : FOLD_GAP);
    return next;
  });
}

/** The middle of each item. */
function settled({ nodes, layer, before, after }: Items, columns: readonly Stack[]): Float64Array {
  const y = new Float64Array(layer.length);
  const heightOf = (item: number) => (item < nodes ? NODE_HEIGHT : PASSING_HEIGHT);
  for (const { items } of columns) pack(items, heightOf, y, () => 0);
  for (let settling = 0; settling < SETTLINGS; settling++) {
    const isForward = settling % 2 === 0;
    const neighbours = isForward ? before : after;
    for (const { items } of isForward ? columns : columns.toReversed())
      pack(items, heightOf, y, (item) => meanOf(neighbours[item] as number[], y, item));
  }
  return y;
}

/** As near as can be to where each would like to be, in their order and without overlapping. */
function pack(
  items: readonly number[],
  heightOf: (item: number) => number,
  y: Float64Array,
  wish: (item: number) => number,
): void {
  /** How far each would be below the first if all touched; what is left to be found is never less than the one before. */
  const offsets: number[] = [];
  let offset = 0;
  for (const [at, item] of items.entries()) {
    if (at > 0) offset += (heightOf(items[at - 1] as number) + heightOf(item)) / 2 + ROW_GAP;
    offsets.push(offset);
  }
  const pools: { sum: number; count: number }[] = [];
  for (const [at, item] of items.entries()) {
    let pool = { sum: wish(item) - (offsets[at] as number), count: 1 };
    for (
      let last = pools.at(-1);
      last && last.sum / last.count > pool.sum / pool.count;
      last = pools.at(-1)
    ) {
      pool = { sum: last.sum + pool.sum, count: last.count + pool.count };
      pools.pop();
    }
    pools.push(pool);
  }
  let at = 0;
  for (const { sum, count } of pools)
    for (let rest = count; rest > 0; rest--, at++)
      y[items[at] as number] = sum / count + (offsets[at] as number);
}

function placed(
  { size }: GraphShape,
  { passing }: Items,
  stacks: readonly Stack[],
  columnX: readonly number[],
  middle: Float64Array,
): Layout {
  const x = new Float64Array(middle.length);
  let top = Number.POSITIVE_INFINITY;
  let bottom = Number.NEGATIVE_INFINITY;
  for (const [column, { items }] of stacks.entries()) {
    for (const item of items) {
      x[item] = columnX[column] as number;
      top = Math.min(top, (middle[item] as number) - NODE_HEIGHT / 2);
      bottom = Math.max(bottom, (middle[item] as number) + NODE_HEIGHT / 2);
    }
  }
  const lowered = middle.map((at) => at - top);
  return {
    x: x.slice(0, size),
    y: lowered.slice(0, size).map((at) => at - NODE_HEIGHT / 2),
    bends: new Map(
      Array.from(passing, ([edge, items]) => [
        edge,
        items.flatMap((item) => [x[item] as number, lowered[item] as number]),
      ]),
    ),
    columns: stacks.map(({ items }, column) => ({
      x: columnX[column] as number,
      nodes: items.filter((item) => item < size),
    })),
    width: size === 0 ? 0 : (columnX.at(-1) as number) + NODE_WIDTH,
    height: size === 0 ? 0 : bottom - top,
  };
}

/** The node at a place, if there is one. */
export function nodeAt({ columns, y }: Layout, atX: number, atY: number): number | undefined {
  const column = columns[firstFrom(columns.length, (at) => (columns[at] as Column).x + NODE_WIDTH >= atX)];
  if (!column || column.x > atX) return undefined;
  const { nodes } = column;
  const node =
    nodes[firstFrom(nodes.length, (at) => (y[nodes[at] as number] as number) + NODE_HEIGHT >= atY)];
  return node !== undefined && (y[node] as number) <= atY ? node : undefined;
}

/** The nodes that can be seen in a box, by column. */
export function nodesIn(
  { columns, y }: Layout,
  box: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number },
): number[] {
  const found: number[] = [];
  for (
    let at = firstFrom(columns.length, (one) => (columns[one] as Column).x + NODE_WIDTH >= box.left);
    at < columns.length && (columns[at] as Column).x <= box.right;
    at++
  ) {
    const { nodes } = columns[at] as Column;
    for (
      let place = firstFrom(
        nodes.length,
        (one) => (y[nodes[one] as number] as number) + NODE_HEIGHT >= box.top,
      );
      place < nodes.length && (y[nodes[place] as number] as number) <= box.bottom;
      place++
    )
      found.push(nodes[place] as number);
  }
  return found;
}

/** The first place from which on something is true; how many there are, where it never is. */
function firstFrom(count: number, isTrue: (at: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
