import type { WorkerAnswer } from "../../../../src/protocol/api-schemas.ts";
import type { Attempt } from "../../api/attempts.ts";

/** A slot of a worker, and what it did. */
export interface StreamRow {
  readonly worker: string;
  readonly lane: number;
  /** Whether it is the first of its worker. */
  readonly isFirst: boolean;
  readonly attempts: readonly Attempt[];
}

/** A row for each slot of each worker that is here, or did something lately. */
export function streamRows(
  workers: readonly Pick<WorkerAnswer, "id" | "slots">[],
  attempts: readonly Attempt[],
): StreamRow[] {
  const lanes = new Map<string, Attempt[][]>();
  for (const { id, slots } of workers)
    lanes.set(
      id,
      Array.from({ length: slots }, () => []),
    );
  for (const attempt of attempts) {
    if (attempt.lane < 0) continue;
    const known = lanes.get(attempt.worker) ?? [];
    while (known.length <= attempt.lane) known.push([]);
    known[attempt.lane]?.push(attempt);
    lanes.set(attempt.worker, known);
  }
  return [...lanes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([worker, slots]) =>
      slots.map((ofLane, lane) => ({ worker, lane, isFirst: lane === 0, attempts: ofLane })),
    );
}
