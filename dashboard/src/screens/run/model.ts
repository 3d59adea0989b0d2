import type { RunAnswer, RunForecastAnswer } from "../../../../src/protocol/api-schemas.ts";
import { criticalPath } from "./critical-path.ts";
import { estimateMsOf, type RunShape } from "./shape.ts";
import { isOver, type Standing, statusOf } from "./standing.ts";

/** All that pictures of a run are drawn from. Times are milliseconds after it was submitted. */
export interface RunModel {
  readonly run: RunAnswer;
  readonly shape: RunShape;
  readonly standing: Standing;
  readonly submittedAt: number;
  /** Bits by node. */
  readonly isCritical: Uint8Array;
  readonly criticalPath: readonly number[];
  /** The edges between these. */
  readonly criticalEdges: readonly number[];
  /** When what remains should start and end; -1: nobody says. */
  readonly plannedStart: Float64Array;
  readonly plannedEnd: Float64Array;
  readonly expectedEnd: number | undefined;
}

export function modelOf(
  run: RunAnswer,
  shape: RunShape,
  standing: Standing,
  forecast: RunForecastAnswer | undefined,
): RunModel {
  const path = criticalPath(shape, standing);
  const isCritical = new Uint8Array(shape.size);
  for (const node of path) isCritical[node] = 1;
  const criticalEdges = path.slice(1).flatMap((node, at) => {
    const edge = shape.edgesTo.of(node).find((one) => shape.edges[2 * one] === path[at]);
    return edge === undefined ? [] : [edge];
  });
  const submittedAt = Date.parse(run.submitted_at);
  const plannedStart = new Float64Array(shape.size).fill(-1);
  const plannedEnd = new Float64Array(shape.size).fill(-1);
  for (const [at, node] of (forecast?.nodes ?? []).entries()) {
    // It has ended since.
    if (isOver(statusOf(standing, node))) continue;
    plannedStart[node] = Math.max(0, forecast?.start[at] ?? -1);
    plannedEnd[node] = forecast?.end[at] ?? -1;
  }
  const expected = forecast?.expected_end ?? null;
  return {
    run,
    shape,
    standing,
    submittedAt,
    isCritical,
    criticalPath: path,
    criticalEdges,
    plannedStart,
    plannedEnd,
    expectedEnd:
      expected === null || run.completed_at !== null ? undefined : Date.parse(expected) - submittedAt,
  };
}

/** Until when there is something to show, if it is so late now. */
export function lastMomentOf(
  { run, standing, plannedEnd, submittedAt, expectedEnd }: RunModel,
  now: number,
): number {
  let last =
    run.completed_at === null ? Math.max(now, expectedEnd ?? 0) : Date.parse(run.completed_at) - submittedAt;
  for (const at of standing.ended) if (at > last) last = at;
  for (const at of plannedEnd) if (at > last) last = at;
  return Math.max(10, last);
}

/** When all that it needs had ended; undefined: that is not so, or not known. */
export function readyAtOf({ shape, standing }: RunModel, node: number): number | undefined {
  let at = 0;
  for (const need of shape.needs.of(node)) {
    const ended = standing.ended[need] as number;
    if (ended < 0 || statusOf(standing, need) !== "completed") return undefined;
    at = Math.max(at, ended);
  }
  return at;
}

/** How long it ran, or runs; undefined: it did not, or nobody knows when. */
export function ranMsOf({ standing }: RunModel, node: number, now: number): number | undefined {
  const started = standing.started[node] as number;
  if (started < 0) return undefined;
  const ended = standing.ended[node] as number;
  return Math.max(0, (ended < 0 ? now : ended) - started);
}

/** Estimated and real time of all that ran to its end, for a comparison of the two. */
export function estimatedAndRealMs(model: RunModel): { readonly estimated: number; readonly real: number } {
  let [estimated, real] = [0, 0];
  for (let node = 0; node < model.shape.size; node++) {
    const ran = model.standing.ended[node] === -1 ? undefined : ranMsOf(model, node, 0);
    if (ran === undefined || statusOf(model.standing, node) !== "completed") continue;
    estimated += estimateMsOf(model.shape, node);
    real += ran;
  }
  return { estimated, real };
}
