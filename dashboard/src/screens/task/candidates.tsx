import type { WhyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { rejectionText } from "../../parts/rejections.ts";
import { numbers, TableHead } from "../../parts/table-head.tsx";

interface CandidatesProps extends Pick<WhyAnswer, "candidates"> {
  /** Undefined: none was chosen yet. */
  readonly chosen?: string;
}

/** Each worker of the zone: what speaks against it, or where it stands among those that could. */
export function Candidates({ candidates, chosen }: CandidatesProps) {
  return (
    <div className="scroll">
      <table className="data candidates">
        <TableHead
          columns={["worker", "rank, or why not", numbers("holds"), numbers("free cores"), "knows the type"]}
        />
        <tbody>
          {candidates.map((one) => (
            <tr key={one.worker_id}>
              <th scope="row">{one.worker_id}</th>
              <td>
                {one.rejection === null ? (
                  rankText(one.rank, chosen, one.worker_id === chosen)
                ) : (
                  <span className="failed">✕ {rejectionText(one.rejection)}</span>
                )}
              </td>
              <td className="number">{one.held}</td>
              <td className="number">{one.free_cpu}</td>
              <td>{one.executed_before ? "has completed it before" : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function rankText(rank: number | null, chosen: string | undefined, isChosen: boolean): string {
  if (chosen === undefined) return `could take it, number ${rank}`;
  return isChosen ? "✓ chosen" : `could have taken it, number ${rank}`;
}
