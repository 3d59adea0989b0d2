import { Fragment, useState } from "react";
import { Link } from "wouter";
import type { AgentAnswer } from "../../../../src/protocol/api-schemas.ts";
import { tasksWith } from "../../parts/filter-link.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { ACTIONS, numbers, TableHead } from "../../parts/table-head.tsx";
import { AgentForm } from "./agent-form.tsx";
import { CreditsForm } from "./credits-form.tsx";
import { rateLimitText } from "./limit-words.ts";
import { ShareBar } from "./share-bar.tsx";

interface AgentsProps {
  readonly agents: readonly AgentAnswer[];
  readonly mayEdit: boolean;
}

/** Rows beyond these make a page that nobody reads. */
const MOST_ROWS = 200;

/** Who submits, what each of them runs of what it may, and what that cost. */
export function Agents({ agents, mayEdit }: AgentsProps) {
  const [editing, setEditing] = useState<{ agent: string; what: "limits" | "credits" }>();
  const close = () => setEditing(undefined);
  return (
    <Panel title="Agents" aside={<span className="quiet">fair share, credits and cost</span>}>
      {agents.length === 0 ? (
        <p className="quiet">Nobody has submitted anything.</p>
      ) : (
        <div className="scroll">
          <table className="data queue-table">
            <TableHead
              columns={[
                "agent",
                "runs",
                "submits",
                numbers("credits"),
                numbers("reserved"),
                numbers("cost lately"),
                ...(mayEdit ? [ACTIONS] : []),
              ]}
            />
            <tbody>
              {agents.slice(0, MOST_ROWS).map((one) => (
                <Fragment key={one.agent}>
                  <tr data-agent={one.agent}>
                    <th scope="row">
                      <Link href={tasksWith("agent", one.agent)}>{one.agent}</Link>
                    </th>
                    <td>
                      <ShareBar
                        running={one.running_count}
                        max={one.max_concurrent}
                        label={`${one.agent} runs ${countText(one.running_count)}`}
                      />
                    </td>
                    <td>{rateLimitText(one.rate)}</td>
                    <td className="number">{one.credits}</td>
                    <td className="number">{one.reserved_credits}</td>
                    <td className="number">{one.cost}</td>
                    {mayEdit && (
                      <td className="number row-buttons">
                        <button
                          type="button"
                          onClick={() => setEditing({ agent: one.agent, what: "limits" })}
                          aria-label={`Limits of ${one.agent}`}
                        >
                          Limits…
                        </button>
                        <button
                          type="button"
                          onClick={() => setEditing({ agent: one.agent, what: "credits" })}
                          aria-label={`Credits for ${one.agent}`}
                        >
                          Credits…
                        </button>
                      </td>
                    )}
                  </tr>
                  {mayEdit && editing?.agent === one.agent && (
                    <tr>
                      <td colSpan={7}>
                        {editing.what === "limits" ? (
                          <AgentForm agent={one} onClose={close} />
                        ) : (
                          <CreditsForm agent={one.agent} onClose={close} />
                        )}
                      </td>
                    </tr>
                  )}
                </Fragment>
              ))}
            </tbody>
          </table>
          {agents.length > MOST_ROWS && (
            <p className="quiet">
              The first {MOST_ROWS} of {countText(agents.length)}; <code>GET /agents</code> has all.
            </p>
          )}
        </div>
      )}
    </Panel>
  );
}
