import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ClusterAnswer, OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { stepDown, useCluster } from "../../api/admin-queries.ts";
import { useMay, useOverview } from "../../api/queries.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Facts } from "../../parts/facts.tsx";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Scroll } from "../../parts/scroll.tsx";
import { numbers, TableHead } from "../../parts/table-head.tsx";
import { useTitle } from "../../shell/title.ts";
import { agoText, spanText } from "../../time/spans.ts";

const SHAPES: Readonly<Record<string, string>> = {
  leader: "★",
  follower: "●",
  starting: "◌",
  lost: "✕",
};

/** The servers that share the store, and which of them decides. */
export function Cluster() {
  useTitle("Cluster");
  const { data: cluster, error, refetch } = useCluster();
  const { data: overview } = useOverview();
  const isOperator = useMay("operator");
  if (!isOperator)
    return <p className="quiet">The servers span all zones: to see them takes the scope operator.</p>;
  if (error && !cluster) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!cluster) return <p className="quiet loading">Looking…</p>;
  return (
    <div className="cluster">
      <ClusterHead cluster={cluster} commit={overview?.commit ?? null} />
      <Panel title="Servers" aside={<span className="quiet">{cluster.name} answers</span>}>
        <Scroll label="Servers that share the store">
          <table className="data queue-table">
            <TableHead
              columns={["server", "role", "address", numbers("applied"), numbers("behind"), numbers("seen")]}
            />
            <tbody>
              {cluster.members.map((member) => (
                <tr key={member.name} data-member={member.name}>
                  <th scope="row">{member.name}</th>
                  <td>
                    <span className="status role" data-role={member.role}>
                      <span aria-hidden="true" className="status-shape">
                        {SHAPES[member.role]}
                      </span>
                      {member.role}
                    </span>
                  </td>
                  <td className="mono">{member.url === "" ? "–" : member.url}</td>
                  <td className="number">{countText(member.seq)}</td>
                  <td className="number">{member.lag === 0 ? "–" : `${countText(member.lag)} events`}</td>
                  <td className="number">{agoText(member.seen_seconds_ago * 1000)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        {cluster.members.length < 2 && (
          <p className="quiet">
            Nobody takes over if this server ends. A second <code>orrery serve</code> on the same store would.
          </p>
        )}
      </Panel>
    </div>
  );
}

interface ClusterHeadProps {
  readonly cluster: ClusterAnswer;
  readonly commit: OverviewAnswer["commit"];
}

function ClusterHead({ cluster: { leader, epoch, seq }, commit }: ClusterHeadProps) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const letGo = async () => {
    await stepDown();
    await client.invalidateQueries({ queryKey: ["cluster"] });
  };
  const facts = [
    ["leader", leader?.name ?? "nobody"],
    ["epoch", countText(epoch)],
    ["last event", countText(seq)],
    ["commit p50", commitText(commit?.p50)],
    ["commit p99", commitText(commit?.p99)],
  ] as const;
  return (
    <div className="task-title">
      <div>
        <h1>Cluster</h1>
        <Facts facts={facts} />
      </div>
      <div className="buttons">
        <button type="button" className="danger" onClick={() => setAsking(true)}>
          Step down…
        </button>
      </div>
      {isAsking && (
        <ConfirmDialog
          question="Let another server lead?"
          confirm="Step down"
          isDanger
          onConfirm={letGo}
          onClose={() => setAsking(false)}
        >
          <p>
            {leader?.name ?? "The leader"} finishes what it is committing and steps down. Nothing is lost,
            workers go on, and requests wait for a moment.
          </p>
        </ConfirmDialog>
      )}
    </div>
  );
}

/** In memory it takes microseconds. */
function commitText(seconds: number | undefined): string {
  if (seconds === undefined) return "–";
  return seconds < 0.01 ? `${(seconds * 1000).toFixed(2)} ms` : spanText(seconds * 1000);
}
