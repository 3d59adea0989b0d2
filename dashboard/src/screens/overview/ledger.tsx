import { Link } from "wouter";
import { useMoment } from "../../api/moment.ts";
import { useLedgerHead } from "../../api/queries.ts";
import { LedgerBadges } from "../../parts/ledger-badges.tsx";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";

/** Where the ledger ends, and whether all of it is as it was written. */
export function Ledger() {
  const { data: head } = useLedgerHead();
  const isPast = useMoment() !== undefined;
  if (!head) return null;
  const { seq, hash, damage } = head;
  return (
    <Panel title={isPast ? "Ledger, as it is now" : "Ledger"} aside={<Link href="/ledger">all</Link>}>
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
          <dt>standing</dt>
          <dd className="badges">
            <LedgerBadges head={head} />
          </dd>
        </div>
      </dl>
      {damage && <p className="failed">{damage.detail}</p>}
    </Panel>
  );
}
