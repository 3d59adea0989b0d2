import { useMoment } from "../../api/moment.ts";
import { useMay } from "../../api/queries.ts";
import { useAgents, useLimits, useQueues } from "../../api/queue-queries.ts";
import { Problem } from "../../parts/problem.tsx";
import { useTitle } from "../../shell/title.ts";
import { Agents } from "./agents.tsx";
import { Executors } from "./executors.tsx";
import { Limits } from "./limits.tsx";
import { ZoneHead } from "./zone-head.tsx";

/** What waits for whom, how much each may run, and for admins what is to be changed about it. */
export function Queues() {
  useTitle("Queues");
  const queues = useQueues();
  const agents = useAgents();
  const limits = useLimits();
  const isPast = useMoment() !== undefined;
  const mayEdit = useMay("admin") && !isPast;
  const failed = [queues, agents, limits].find(({ error, data }) => error && !data);
  if (failed?.error) return <Problem error={failed.error} onRetry={() => void failed.refetch()} />;
  if (!queues.data) return <p className="quiet loading">Looking…</p>;
  return (
    <div className="queues">
      <ZoneHead answer={queues.data} mayEdit={mayEdit} />
      <Executors answer={queues.data} mayEdit={mayEdit} />
      <Agents agents={agents.data?.agents ?? []} mayEdit={mayEdit} />
      <Limits limits={limits.data?.limits ?? []} mayEdit={mayEdit} />
    </div>
  );
}
