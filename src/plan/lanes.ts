import { Heap } from "../core/index.ts";

/** What occupies a lane. */
export interface Occupant {
  readonly start: number;
  readonly finish: number;
}

/** For each the first lane that is free when it starts. They come in the order of their starts. */
export function packLanes(occupants: readonly Occupant[]): Uint32Array {
  const lanes = new Uint32Array(occupants.length);
  const free = new Heap<number>((a, b) => a < b);
  const busy = new Heap<{ readonly lane: number; readonly until: number }>(
    (a, b) => a.until < b.until || (a.until === b.until && a.lane < b.lane),
  );
  let opened = 0;
  for (const [at, { start, finish }] of occupants.entries()) {
    while ((busy.peek()?.until ?? Number.POSITIVE_INFINITY) <= start) free.push(busy.pop()?.lane as number);
    const lane = free.pop() ?? opened++;
    lanes[at] = lane;
    busy.push({ lane, until: finish });
  }
  return lanes;
}
