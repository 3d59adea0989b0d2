import { useMemo } from "react";
import type { Attempt } from "../../api/attempts.ts";
import { countText } from "../../parts/numbers.ts";
import { SHAPES } from "./stream-paint.ts";
import { coloursAt } from "./type-colours.ts";

/** Types that are named, those with most attempts first. */
const MOST_TYPES = 12;

interface StreamLegendProps {
  readonly attempts: readonly Attempt[];
  readonly places: ReadonlyMap<string, number>;
}

/** Which colour is which task type, among what is shown, and what the shapes mean. */
export function StreamLegend({ attempts, places }: StreamLegendProps) {
  const types = useMemo(() => {
    const counts = new Map<string, number>();
    for (const { type, task } of attempts) if (task !== null) counts.set(type, (counts.get(type) ?? 0) + 1);
    return [...counts].sort(([a, most], [b, fewer]) => fewer - most || (a < b ? -1 : 1));
  }, [attempts]);
  return (
    <div className="stream-legend">
      <ul aria-label="Task types by colour">
        {types.slice(0, MOST_TYPES).map(([type, count]) => (
          <li key={type} data-type={type}>
            <span
              className="swatch"
              aria-hidden="true"
              style={{ background: coloursAt(places.get(type) ?? 0) }}
            />
            {type} <span className="quiet">{countText(count)}</span>
          </li>
        ))}
        {types.length > MOST_TYPES && <li className="quiet">{types.length - MOST_TYPES} more types</li>}
        {types.length === 0 && <li className="quiet">Nothing ran in this time.</li>}
      </ul>
      <ul aria-label="What the shapes mean" className="quiet">
        <li>
          <span className="swatch on-its-way" aria-hidden="true" /> on its way
        </li>
        {Object.entries(SHAPES).map(([outcome, shape]) => (
          <li key={outcome}>
            <span aria-hidden="true">{shape}</span> {outcome}
          </li>
        ))}
        <li>
          <span className="swatch brought" aria-hidden="true" /> data brought
        </li>
      </ul>
    </div>
  );
}
