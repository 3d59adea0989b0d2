import { estimateMsOf, type RunShape } from "./shape.ts";
import { isOver, type Standing, statusOf } from "./standing.ts";

/**
 * What holds up the end of a run. Of a run that has ended: back from what ended last, each time to what that needed and
 * that ended last. Of one that has not: the longest chain of what remains, and before it what its first node waited for.
 */
export function criticalPath(shape: RunShape, standing: Standing): number[] {
  const { ended } = standing;
  const isOpen = (node: number) => !isOver(statusOf(standing, node));
  const latest = (nodes: Iterable<number>): number | undefined => {
    let best: number | undefined;
    for (const node of nodes)
      if (
        (ended[node] as number) >= 0 &&
        (best === undefined || (ended[node] as number) > (ended[best] as number))
      )
        best = node;
    return best;
  };
  const remaining = remainingPath(shape, isOpen);
  const [first] = remaining;
  const path: number[] = [];
  let node = first === undefined ? latest(shape.ids.keys()) : latest(shape.needs.of(first));
  for (; node !== undefined; node = latest(shape.needs.of(node))) path.push(node);
  return [...path.reverse(), ...remaining];
}

/** The longest chain by estimates of what has not ended; ties fall to the node that was submitted first. */
function remainingPath(shape: RunShape, isOpen: (node: number) => boolean): number[] {
  const behindMs = new Float64Array(shape.size).fill(-1);
  const next = new Int32Array(shape.size).fill(-1);
  for (const node of fromTheEnd(shape)) {
    if (!isOpen(node)) continue;
    let longest = 0;
    for (const dependent of shape.dependents.of(node)) {
      if ((behindMs[dependent] as number) <= longest) continue;
      longest = behindMs[dependent] as number;
      next[node] = dependent;
    }
    behindMs[node] = longest + Math.max(1, estimateMsOf(shape, node));
  }
  let first = -1;
  for (let node = 0; node < shape.size; node++)
    if ((behindMs[node] as number) > (first === -1 ? 0 : (behindMs[first] as number))) first = node;
  const path: number[] = [];
  for (let node = first; node !== -1; node = next[node] as number) path.push(node);
  return path;
}

/** Each node behind all that need it. */
function fromTheEnd({ size, needs, dependents }: RunShape): number[] {
  const open = Uint32Array.from({ length: size }, (_, node) => dependents.of(node).length);
  const order: number[] = [];
  for (let node = 0; node < size; node++) if (open[node] === 0) order.push(node);
  for (let at = 0; at < order.length; at++)
    for (const need of needs.of(order[at] as number)) if (--(open[need] as number) === 0) order.push(need);
  return order;
}
