import { useLedgerHead } from "../../api/queries.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";

/** Where the ledger ends, and whether all of it is as it was written. */
export function Ledger() {
  const { data: head } = useLedgerHead();
  if (!head) return null;
  const { seq, hash, verified_to, damage } = head;
  const state = damage ? "damaged" : verified_to === seq ? "verified" : "verifying";
  return (
    <Panel title="Ledger">
      <dl className="facts">
        <div>
          <dt>last event</dt>
          <dd>{countText(seq)}</dd>
        </div>
        <div>
          <dt>head</dt>
          <dd className="mono" title={hash}>
            {hash.slice(0, 16)}…
          </dd>
        </div>
        <div>
          <dt>chain</dt>
          <dd className="badge" data-ledger={state}>
            {state === "verified" && "✓ verified"}
            {state === "verifying" && `◌ verified to ${countText(verified_to)}`}
            {damage && `✕ event ${countText(damage.seq)}: ${damage.code}`}
          </dd>
        </div>
      </dl>
      {damage && <p className="failed">{damage.detail}</p>}
    </Panel>
  );
}
