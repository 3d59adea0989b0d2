import type { WhyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { rejectionText } from "../../parts/rejections.ts";

/** Each worker of the zone: what speaks against it, or where it stands among those that could. */
export function Candidates({ candidates }: Pick<WhyAnswer, "candidates">) {
  return (
    <div className="scroll">
      <table className="data candidates">
        <thead>
          <tr>
            <th scope="col">worker</th>
            <th scope="col">rank, or why not</th>
            <th scope="col" className="number">
              holds
            </th>
            <th scope="col" className="number">
              free cores
            </th>
            <th scope="col">knows the type</th>
          </tr>
        </thead>
        <tbody>
          {candidates.map((one) => (
            <tr key={one.worker_id}>
              <th scope="row">{one.worker_id}</th>
              <td>
                {one.rejection === null ? (
                  `could take it, number ${one.rank}`
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
