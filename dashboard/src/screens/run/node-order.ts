import { type RunModel, ranMsOf, readyAtOf } from "./model.ts";
import { estimateMsOf, typeOf } from "./shape.ts";

export const COLUMNS = ["state", "node", "type", "started", "waited", "ran", "estimate", "worker"] as const;
export type ColumnName = (typeof COLUMNS)[number];

/** Nodes in the order of a column; ties in that of their submission. What has no value comes last, either way. */
export function sortedNodes(model: RunModel, by: ColumnName, isDown: boolean): number[] {
  const { shape } = model;
  const values = shape.ids.map((_, node) => sortValue(model, by, node));
  const sign = isDown ? -1 : 1;
  return [...shape.ids.keys()].sort((a, b) => {
    const [one, other] = [values[a], values[b]];
    if (one === undefined || other === undefined)
      return Number(one === undefined) - Number(other === undefined) || a - b;
    return sign * (one < other ? -1 : one > other ? 1 : 0) || a - b;
  });
}

function sortValue(model: RunModel, by: ColumnName, node: number): number | string | undefined {
  const { shape, standing } = model;
  const started = standing.started[node] as number;
  switch (by) {
    case "state":
      return standing.status[node];
    case "node":
      return shape.ids[node];
    case "type":
      return typeOf(shape, node);
    case "started":
      return started >= 0 ? started : undefined;
    case "waited": {
      const readyAt = readyAtOf(model, node);
      return readyAt === undefined || started < 0 ? undefined : started - readyAt;
    }
    case "ran":
      return standing.ended[node] === -1 ? undefined : ranMsOf(model, node, 0);
    case "estimate":
      return estimateMsOf(shape, node);
    case "worker":
      return standing.workers[standing.worker[node] ?? -1];
  }
}
