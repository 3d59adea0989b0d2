import { Link } from "wouter";
import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { spanText } from "../../time/spans.ts";

export function Classes({ classes }: Pick<OverviewAnswer, "classes">) {
  return (
    <Panel title="By class">
      <table className="data">
        <thead>
          <tr>
            <th scope="col">class</th>
            <th scope="col" className="number">
              ready
            </th>
            <th scope="col" className="number">
              running
            </th>
            <th scope="col" className="number">
              oldest waits
            </th>
          </tr>
        </thead>
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
