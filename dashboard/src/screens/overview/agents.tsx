import { Link } from "wouter";
import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { tasksWith } from "../../parts/filter-link.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";

/** Those with most running. */
export function Agents({ agents }: Pick<OverviewAnswer, "agents">) {
  return (
    <Panel title="Agents">
      {agents.length === 0 ? (
        <p className="quiet">Nobody has submitted anything.</p>
      ) : (
        <table className="data">
          <tbody>
            {agents.map(({ agent, running_count, max_concurrent }) => (
              <tr key={agent}>
                <th scope="row">
                  <Link href={tasksWith("agent", agent)}>{agent}</Link>
                </th>
                <td className="number">
                  {countText(running_count)}{" "}
                  {max_concurrent === null ? "running" : `of ${max_concurrent} running`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
