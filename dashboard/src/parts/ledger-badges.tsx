import type { LedgerHeadAnswer } from "../../../src/protocol/api-schemas.ts";
import { countText } from "./numbers.ts";

/** Whether the chain holds, and whether it makes the state that there is. */
export function LedgerBadges({ head }: { readonly head: LedgerHeadAnswer }) {
  const { seq, verified_to, damage, replay } = head;
  const state = damage ? "damaged" : verified_to === seq ? "verified" : "verifying";
  return (
    <>
      <span className="badge" data-ledger={state}>
        {state === "verified" && "✓ chain verified"}
        {state === "verifying" && `◌ chain verified to ${countText(verified_to)}`}
        {damage && `✕ event ${countText(damage.seq)}: ${damage.code}`}
      </span>
      {replay && (
        <span className="badge" data-ledger={replay.equal ? "verified" : "damaged"} data-replay="">
          {replay.equal ? "✓ replay equal" : "✕ replay differs"} at {countText(replay.seq)}
        </span>
      )}
    </>
  );
}
