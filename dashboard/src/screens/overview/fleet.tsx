import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { Facts } from "../../parts/facts.tsx";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";

export function Fleet({ overview: { workers, slots } }: { readonly overview: OverviewAnswer }) {
  const all = slots.busy + slots.free + slots.closed;
  return (
    <Panel title="Workers">
      <Facts
        facts={[
          ["here", countText(workers)],
          ["slots busy", `${countText(slots.busy)} of ${countText(all)}`],
          ["take nothing new", slots.closed > 0 && countText(slots.closed)],
        ]}
      />
      <meter
        className="wide"
        value={slots.busy}
        max={Math.max(1, all)}
        aria-label={`${slots.busy} of ${all} slots are busy`}
      />
      {workers === 0 && (
        <p className="quiet">
          Nobody runs anything yet: <code>orrery worker --tasks FILE</code>
        </p>
      )}
    </Panel>
  );
}
