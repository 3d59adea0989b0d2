import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useOverview } from "../../api/queries.ts";
import { Problem } from "../../parts/problem.tsx";
import { useTitle } from "../../shell/title.ts";
import { Agents } from "./agents.tsx";
import { Classes } from "./classes.tsx";
import { Fleet } from "./fleet.tsx";
import { Latest } from "./latest.tsx";
import { LatestRuns } from "./latest-runs.tsx";
import { Ledger } from "./ledger.tsx";
import { Reasons } from "./reasons.tsx";
import { Throughput } from "./throughput.tsx";
import { Totals } from "./totals.tsx";

/** The zone at a glance. */
export function Overview() {
  useTitle("Overview");
  const { data: known, error, isPending, refetch } = useOverview();
  if (error && !known) return <Problem error={error} onRetry={() => void refetch()} />;
  const data = known ?? NOTHING;
  return (
    <div className="overview" aria-busy={isPending}>
      <h1 className="visually-hidden">Overview of the zone {data.zone}</h1>
      <Totals overview={data} />
      <div className="overview-grid">
        <Throughput overview={data} />
        <Classes classes={data.classes} />
        <Reasons waiting={data.waiting} />
        <Fleet overview={data} />
        <Agents agents={data.agents} />
        <LatestRuns dataRuns={data.data_runs} />
        <Latest />
        <Ledger />
      </div>
    </div>
  );
}

/** Shown for the moment before the first answer, so that nothing moves when it comes. */
const NOTHING: OverviewAnswer = {
  zone: "",
  at: new Date(0).toISOString(),
  classes: (["interactive", "batch", "background"] as const).map((priority_class) => ({
    priority_class,
    ready: 0,
    running: 0,
    oldest_wait: 0,
  })),
  waiting: {},
  ended: { completed: 0, failed: 0, cancelled: 0 },
  per_second: { submitted: 0, started: 0, ended: 0 },
  last_minute: { submitted: [], started: [], ended: [] },
  wait: null,
  commit: null,
  workers: 0,
  slots: { busy: 0, free: 0, closed: 0 },
  agents: [],
  data_runs: [],
};
