import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";

export function Fleet({ overview: { workers, slots } }: { readonly overview: OverviewAnswer }) {
  const all = slots.busy + slots.free + slots.closed;
  return (
    <Panel title="Workers">
      <dl className="facts">
        <div>
          <dt>here</dt>
          <dd data-fact="workers">{countText(workers)}</dd>
        </div>
        <div>
          <dt>slots busy</dt>
          <dd>
            {countText(slots.busy)} of {countText(all)}
          </dd>
        </div>
        {slots.closed > 0 && (
          <div>
            <dt>take nothing new</dt>
            <dd>{countText(slots.closed)}</dd>
          </div>
        )}
      </dl>
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
