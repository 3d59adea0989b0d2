import { Link } from "wouter";
import type { Attempt } from "../../api/attempts.ts";
import { countText } from "../../parts/numbers.ts";
import { numbers, TableHead } from "../../parts/table-head.tsx";
import { Time } from "../../time/time.tsx";
import { attemptName, tookText } from "./attempt-words.ts";

const SHOWN = 200;

interface StreamTableProps {
  readonly attempts: readonly Attempt[];
  readonly now: number;
}

/** The task stream for who would rather read it: what is in the picture, the latest first. */
export function StreamTable({ attempts, now }: StreamTableProps) {
  const latest = attempts.slice(-SHOWN).reverse();
  return (
    <div className="scroll stream-table">
      <table className="data">
        <TableHead
          columns={["task", "worker", numbers("slot"), "how", "given", numbers("took"), numbers("brought")]}
        />
        <tbody>
          {latest.map((attempt) => (
            <tr key={attempt.key} data-attempt={attempt.key}>
              <th scope="row">
                {attempt.task === null ? (
                  <span className="quiet">{attemptName(attempt)}</span>
                ) : (
                  <Link href={`/tasks/${attempt.task}`}>{attemptName(attempt)}</Link>
                )}
              </th>
              <td>{attempt.worker}</td>
              <td className="number">{attempt.lane < 0 ? "–" : attempt.lane + 1}</td>
              <td>{attempt.outcome}</td>
              <td>
                <Time at={new Date(attempt.assigned).toISOString()} />
              </td>
              <td className="number">{tookText(attempt, now)}</td>
              <td className="number">{countText(attempt.transfers.length)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {attempts.length > SHOWN && (
        <p className="quiet">
          The latest {SHOWN} of {countText(attempts.length)}.
        </p>
      )}
      {attempts.length === 0 && <p className="quiet">Nothing ran in this time.</p>}
    </div>
  );
}
