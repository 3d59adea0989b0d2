import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { KeyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { revokeKey } from "../../api/admin-queries.ts";
import { useCaller } from "../../api/queries.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { countText } from "../../parts/numbers.ts";
import { ACTIONS, TableHead } from "../../parts/table-head.tsx";
import { useNow } from "../../time/clock.ts";
import { Time } from "../../time/time.tsx";

/** Rows beyond these make a page that nobody reads. */
const MOST_ROWS = 200;

export function KeyTable({ keys }: { readonly keys: readonly KeyAnswer[] }) {
  const [isAll, setAll] = useState(false);
  const now = useNow();
  const newest = keys.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1));
  const ended = newest.filter((key) => stateOf(key, now) !== "valid");
  const shown = isAll ? newest : newest.filter((key) => !ended.includes(key));
  return (
    <div className="scroll">
      <table className="data queue-table">
        <TableHead columns={["name", "state", "may", "zones", "agents", "made", "ends", ACTIONS]} />
        <tbody>
          {shown.slice(0, MOST_ROWS).map((key) => (
            <KeyRow key={key.id} row={key} state={stateOf(key, now)} />
          ))}
        </tbody>
      </table>
      <p className="quiet">
        {shown.length > MOST_ROWS && `The newest ${MOST_ROWS} of ${countText(shown.length)}. `}
        {ended.length > 0 && (
          <button type="button" onClick={() => setAll(!isAll)}>
            {isAll ? "Hide" : "Show"} the {countText(ended.length)} that ended
          </button>
        )}
      </p>
    </div>
  );
}

type KeyState = "valid" | "expired" | "revoked" | "ended";
const SHAPES: Readonly<Record<KeyState, string>> = { valid: "✓", expired: "◷", revoked: "✕", ended: "✕" };

function stateOf({ revoked_at, expires_at, suspended_reason }: KeyAnswer, now: number): KeyState {
  if (revoked_at !== null) return "revoked";
  if (suspended_reason !== null) return "ended";
  return expires_at !== null && Date.parse(expires_at) <= now ? "expired" : "valid";
}

function KeyRow({ row, state }: { readonly row: KeyAnswer; readonly state: KeyState }) {
  const { data: caller } = useCaller();
  const isOwn = caller?.key_id === row.id;
  const ends = row.revoked_at ?? row.expires_at;
  return (
    <tr data-key={row.id}>
      <th scope="row" title={row.id}>
        {row.name === "" ? row.id : row.name}
        {isOwn && <span className="quiet"> (yours)</span>}
      </th>
      <td>
        <span className="status key-state" data-key-state={state}>
          <span aria-hidden="true" className="status-shape">
            {SHAPES[state]}
          </span>
          {row.suspended_reason !== null && state === "ended" ? row.suspended_reason : state}
          {row.standing_still > 0 && ` (${countText(row.standing_still)} schedules or webhooks stand still)`}
        </span>
      </td>
      <td>{row.scopes.join(", ")}</td>
      <td>{namesText(row.zones)}</td>
      <td>{namesText(row.agents)}</td>
      <td>
        <Time at={row.created_at} />
      </td>
      <td>{ends === null ? "never" : <Time at={ends} />}</td>
      <td className="number">{state === "valid" && <RevokeButton row={row} isOwn={isOwn} />}</td>
    </tr>
  );
}

function namesText(names: readonly string[]): string {
  return names.includes("*") ? "all" : names.join(", ");
}

function RevokeButton({ row, isOwn }: { readonly row: KeyAnswer; readonly isOwn: boolean }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const revoke = async () => {
    await revokeKey(row.id);
    await client.invalidateQueries({ queryKey: ["keys"] });
    await client.invalidateQueries({ queryKey: ["audit"] });
  };
  return (
    <>
      <button
        type="button"
        className="danger"
        aria-label={`Revoke ${row.name}`}
        onClick={() => setAsking(true)}
      >
        Revoke…
      </button>
      {isAsking && (
        <ConfirmDialog
          question={`Revoke the key ${row.name}?`}
          confirm="Revoke it"
          isDanger
          onConfirm={revoke}
          onClose={() => setAsking(false)}
        >
          <p>
            Requests with it are refused from now on, and it cannot be made valid again. The keys that it made
            end too; its schedules fire no more, and its webhooks send no more. To hand them over to another
            key, use <code>orrery keys revoke ID --hand-over-to OTHER</code>.
            {isOwn && " It is the one that you are signed in with."}
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
