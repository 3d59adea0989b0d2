import { shapeOf } from "../../parts/status-shapes.ts";
import { spanText } from "../../time/spans.ts";
import { type RunModel, ranMsOf } from "./model.ts";
import { estimateMsOf, typeOf } from "./shape.ts";
import { statusOf } from "./standing.ts";

interface CaptionProps {
  readonly model: RunModel;
  readonly node: number | undefined;
  /** In milliseconds after the run was submitted. */
  readonly now: number;
}

/** What is pointed at, in a line. Who does not point selects a node and has all of it in the panel. */
export function Caption({ model, node, now }: CaptionProps) {
  if (node === undefined || node >= model.shape.size) return null;
  const status = statusOf(model.standing, node);
  const ran = ranMsOf(model, node, now);
  const worker = model.standing.workers[model.standing.worker[node] ?? -1];
  const parts = [
    `${shapeOf(status)} ${status}`,
    typeOf(model.shape, node),
    ran === undefined
      ? `estimated ${spanText(estimateMsOf(model.shape, node))}`
      : `${spanText(ran)} of ${spanText(estimateMsOf(model.shape, node))}`,
    ...(worker === undefined ? [] : [worker]),
  ];
  return (
    <p className="picture-caption" aria-hidden="true">
      <b>{model.shape.ids[node]}</b> {parts.join(" · ")}
    </p>
  );
}
