import { useMemo, useState } from "react";
import type { LedgerEventAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useMoment } from "../../api/moment.ts";
import { useEventPages, useMoments } from "../../api/past-queries.ts";
import { useCaller, useLedgerHead, useMay } from "../../api/queries.ts";
import { Refused } from "../../api/request.ts";
import { useAddress } from "../../parts/address.ts";
import { countText } from "../../parts/numbers.ts";
import { Problem } from "../../parts/problem.tsx";
import { Jump } from "../../past/jump.tsx";
import { useTitle } from "../../shell/title.ts";
import { EventDialog } from "./event-dialog.tsx";
import { EventList } from "./event-list.tsx";
import { Export } from "./export.tsx";
import { Verify } from "./verify.tsx";

/** Everything that the scheduler was told and decided, in order. */
export function Ledger() {
  useTitle("Ledger");
  const { data: caller } = useCaller();
  const mayLook = useMay("operator");
  if (!caller) return <p className="quiet">Looking…</p>;
  if (!mayLook)
    return <p className="quiet">The ledger spans all zones, so it is for keys with the scope operator.</p>;
  return <Events />;
}

function Events() {
  const at = useMoment();
  const { data: head } = useLedgerHead();
  const [params, change] = useAddress();
  const kind = params.get("kind") ?? "";
  const kinds = useKinds(kind);
  const [jumped, setJumped] = useState<number>();
  const [refreshed, setRefreshed] = useState<number>();
  const upTo = jumped ?? at ?? refreshed;
  const pages = useEventPages(upTo, kind);
  const [shown, setShown] = useState<LedgerEventAnswer>();
  const events = pages.data ?? [];
  const newest = upTo ?? (kind === "" ? events[0]?.seq : head?.seq) ?? 0;
  const newer = at === undefined && head ? head.seq - newest : 0;
  return (
    <div className="ledger">
      <h1 className="visually-hidden">Ledger</h1>
      <div className="tasks-bar">
        <label>
          Kind{" "}
          <select value={kind} onChange={({ target }) => change("kind", target.value)}>
            <option value="">all</option>
            {kinds.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <Jump onJump={setJumped} />
        <span className="quiet" role="status">
          {pages.isPending ? (
            <Building error={pages.failureReason} />
          ) : (
            `${countText(events.length)}${pages.hasNextPage ? "+" : ""} events`
          )}
        </span>
        {(newer > 0 || jumped !== undefined) && (
          <button
            type="button"
            data-action="newest"
            onClick={() => {
              setJumped(undefined);
              setRefreshed(head?.seq);
            }}
          >
            {jumped === undefined ? `${countText(newer)} newer` : "To the newest"}
          </button>
        )}
        <span className="spacer" />
        <Export />
      </div>
      <Verify />
      {pages.error && <Problem error={pages.error} onRetry={() => void pages.refetch()} />}
      <EventList pages={pages} events={events} at={at} onOpen={setShown} />
      {shown && <EventDialog event={shown} onClose={() => setShown(undefined)} />}
    </div>
  );
}

/** Those that there are, and the one that is looked for. */
function useKinds(asked: string): string[] {
  const { data } = useMoments();
  return useMemo(() => {
    const found = new Set(data?.buckets.flatMap(({ kinds }) => Object.keys(kinds)));
    if (asked !== "") found.add(asked);
    return [...found].sort();
  }, [data, asked]);
}

function Building({ error }: { readonly error: Error | null }) {
  if (!(error instanceof Refused) || error.progress === undefined) return "Looking…";
  return (
    <>
      <progress value={error.progress} /> Replaying the ledger, {Math.floor(error.progress * 100)} %
    </>
  );
}
