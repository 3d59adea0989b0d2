import { shapeOf } from "../../parts/status-shapes.ts";
import type { RunModel } from "./model.ts";
import { statusOf } from "./standing.ts";

const SHOWN = 12;

interface NodeLinksProps {
  readonly title: string;
  readonly nodes: readonly number[];
  readonly model: RunModel;
  readonly onSelect: (node: number) => void;
}

/** The neighbours of a node, to go to. */
export function NodeLinks({ title, nodes, model, onSelect }: NodeLinksProps) {
  if (nodes.length === 0) return null;
  return (
    <>
      <h3>
        {title} {nodes.length}
      </h3>
      <ul className="node-links">
        {nodes.slice(0, SHOWN).map((node) => {
          const status = statusOf(model.standing, node);
          return (
            <li key={node}>
              <button type="button" onClick={() => onSelect(node)}>
                <span className="status" data-status={status}>
                  <span aria-hidden="true">{shapeOf(status)}</span>
                  <span className="visually-hidden">{status} </span>
                </span>{" "}
                {model.shape.ids[node]}
              </button>
            </li>
          );
        })}
        {nodes.length > SHOWN && <li className="quiet">and {nodes.length - SHOWN} more</li>}
      </ul>
    </>
  );
}
