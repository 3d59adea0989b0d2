import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";

/** What each reason means, in the order in which they are looked at. */
const MEANINGS: Readonly<Record<string, string>> = {
  Unsatisfiable: "no worker could ever run it",
  Held: "paused, or held by a person",
  NotDue: "its time has not come",
  Dependencies: "what it needs has not completed",
  Admission: "its agent or a limit has as many as may run",
  Capacity: "no worker has room",
  Outranked: "others go first",
  Pending: "it is looked at next",
};

/** All that waits, by the first reason that applies. */
export function Reasons({ waiting }: Pick<OverviewAnswer, "waiting">) {
  const counts = Object.entries(waiting).filter(([, count]) => count > 0);
  const most = Math.max(1, ...counts.map(([, count]) => count));
  return (
    <Panel title="Why what waits does not run">
      {counts.length === 0 ? (
        <p className="quiet">Nothing waits.</p>
      ) : (
        <table className="data reasons">
          <tbody>
            {counts.map(([reason, count]) => (
              <tr key={reason} data-reason={reason}>
                <th scope="row">
                  {reason}
                  <span className="quiet">{MEANINGS[reason] ?? ""}</span>
                </th>
                <td className="number">{countText(count)}</td>
                <td className="share">
                  <meter value={count} max={most} aria-label={`${count} wait: ${reason}`} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
