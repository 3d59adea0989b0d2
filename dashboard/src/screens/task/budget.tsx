import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { numbers, TableHead } from "../../parts/table-head.tsx";

const PARTS = ["ops", "memory", "spawn_count", "channel_ops", "syscalls"] as const;

/** What an attempt may consume, and did. */
export function Budget({ budget }: Pick<TaskAnswer, "budget">) {
  if (!budget) return <p className="quiet">It has no budget: it uses what it likes.</p>;
  const { given, recharged, used, exhausted, on_exhausted } = budget;
  return (
    <section className="panel scroll" aria-label="Budget">
      <p className="quiet">
        When a part is used up, it {on_exhausted === "wait" ? "waits to be recharged" : "fails"}.
        {exhausted !== null && (
          <b className="failed">
            {" "}
            It waits for more {exhausted}: orrery recharge ID --{exhausted.replace("_", "-")} …
          </b>
        )}
      </p>
      <table className="data">
        <TableHead columns={["part", numbers("given"), numbers("recharged"), numbers("used")]} />
        <tbody>
          {PARTS.map((part) => (
            <tr key={part}>
              <th scope="row">{part}</th>
              <td className="number">{countText(given[part])}</td>
              <td className="number">{countText(recharged[part])}</td>
              <td className="number">{used ? countText(used[part]) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
