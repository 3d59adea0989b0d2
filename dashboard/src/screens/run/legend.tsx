import { countText } from "../../parts/numbers.ts";
import { shapeOf } from "../../parts/status-shapes.ts";
import { countsOf, type Standing } from "./standing.ts";

/** What the colours and shapes of the pictures mean, with how many there are of each. */
export function Legend({ standing, hasPlan }: { readonly standing: Standing; readonly hasPlan: boolean }) {
  return (
    <ul className="run-legend" aria-label="Nodes by state">
      {[...countsOf(standing)].map(([status, count]) => (
        <li key={status} data-count-of={status}>
          <span className="legend-chip" data-status={status} aria-hidden="true">
            {shapeOf(status)}
          </span>
          {status} <b>{countText(count)}</b>
        </li>
      ))}
      <li>
        <span className="legend-critical" aria-hidden="true" /> holds up the end
      </li>
      <li>
        <span className="legend-estimate" aria-hidden="true" /> as estimated
      </li>
      {hasPlan && (
        <li>
          <span className="legend-planned" aria-hidden="true" /> planned
        </li>
      )}
    </ul>
  );
}
