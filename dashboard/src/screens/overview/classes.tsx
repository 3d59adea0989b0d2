import { Link } from "wouter";
import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { numbers, TableHead } from "../../parts/table-head.tsx";
import { spanText } from "../../time/spans.ts";

export function Classes({ classes }: Pick<OverviewAnswer, "classes">) {
  return (
    <Panel title="By class">
      <table className="data">
        <TableHead columns={["class", numbers("ready"), numbers("running"), numbers("oldest waits")]} />
        <tbody>
          {classes.map(({ priority_class, ready, running, oldest_wait }) => (
            <tr key={priority_class}>
              <th scope="row">
                <Link href={`/tasks?filter=class:${priority_class}`}>{priority_class}</Link>
              </th>
              <td className="number">{countText(ready)}</td>
              <td className="number">{countText(running)}</td>
              <td className="number">{oldest_wait > 0 ? spanText(oldest_wait * 1000) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
