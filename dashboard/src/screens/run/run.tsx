import { useCallback, useMemo, useRef, useState } from "react";
import type { RunAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useMoment } from "../../api/moment.ts";
import { useForecast, useRun } from "../../api/run-queries.ts";
import { useAddress } from "../../parts/address.ts";
import type { Paint, Size } from "../../parts/picture/picture.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useTitle } from "../../shell/title.ts";
import { useNow } from "../../time/clock.ts";
import { Exports, type Pictures } from "./exports.tsx";
import { GanttPicture } from "./gantt-picture.tsx";
import { GraphPicture } from "./graph-picture.tsx";
import { Legend } from "./legend.tsx";
import { modelOf } from "./model.ts";
import { NodePanel } from "./node-panel.tsx";
import { NodeTable } from "./node-table.tsx";
import { useRunShape, useStanding } from "./queries.ts";
import { RunFacts } from "./run-facts.tsx";
import { RunHead } from "./run-head.tsx";
import type { Standing } from "./standing.ts";
import { useLayout } from "./use-layout.ts";

const TABS = ["both", "graph", "gantt", "table"] as const;
type Tab = (typeof TABS)[number];

/** One run: its graph and when each node ran, marked alike, and what can be done about it. */
export function Run({ id }: { readonly id: string }) {
  const { data: run, error, refetch } = useRun(id);
  useTitle(run ? `Run ${run.name}` : "Run");
  if (error && !run) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!run) return <p className="quiet loading">Looking…</p>;
  return <KnownRun run={run} />;
}

function KnownRun({ run }: { readonly run: RunAnswer }) {
  const { data: shape, error, refetch } = useRunShape(run.id);
  const { data: standing } = useStanding(run.id);
  const { data: forecast } = useForecast(run.id, { nodes: run.nodes, isOpen: run.completed_at === null });
  const layout = useLayout(shape);
  const now = useRunNow(run, standing);
  const model = useMemo(
    () => shape && standing && modelOf(run, shape, standing, forecast),
    [run, shape, standing, forecast],
  );
  const { tab, show, selected, select } = useChoices(shape?.ids);
  const [hovered, setHovered] = useState<number>();
  const pictures = useRef<Pictures>({});
  const note = useCallback(
    (name: keyof Pictures) => (paint: Paint, size: Size | undefined) => {
      pictures.current = { ...pictures.current, [name]: size && { paint, size } };
    },
    [],
  );
  const notes = useMemo(() => ({ graph: note("graph"), gantt: note("gantt") }), [note]);
  const marks = { selected, hovered, onSelect: select, onHover: setHovered };
  return (
    <div className="run" data-tab={tab}>
      <RunHead
        run={run}
        parent={shape?.parent ?? null}
        exports={model && <Exports model={model} layout={layout} now={now} pictures={pictures} />}
      />
      <RunFacts run={run} model={model} now={now} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      <Tabs names={TABS} chosen={tab} onChoose={show}>
        {model && <Legend standing={model.standing} hasPlan={run.completed_at === null} />}
        <div className="run-body" data-has-panel={selected !== undefined || undefined}>
          {tab === "table" ? (
            model && <NodeTable model={model} now={now} selected={selected} onSelect={select} />
          ) : (
            <div className="run-pictures" aria-busy={!model || !layout}>
              {tab !== "gantt" &&
                (model && layout ? (
                  <GraphPicture model={model} layout={layout} now={now} {...marks} onPaint={notes.graph} />
                ) : (
                  <div className="picture-frame" data-frame="graph" />
                ))}
              {tab !== "graph" &&
                (model ? (
                  <GanttPicture model={model} now={now} {...marks} onPaint={notes.gantt} />
                ) : (
                  <div className="picture-frame" data-frame="gantt" />
                ))}
            </div>
          )}
          {model && selected !== undefined && (
            <NodePanel model={model} node={selected} now={now} onSelect={select} />
          )}
        </div>
      </Tabs>
    </div>
  );
}

/** By the server's clock, in milliseconds after the run was submitted; of what is over, when it was looked at. */
function useRunNow(run: RunAnswer, standing: Standing | undefined): number {
  const isPast = useMoment() !== undefined;
  const here = useNow();
  const submittedAt = Date.parse(run.submitted_at);
  if (!standing) return Math.max(0, here - submittedAt);
  const passed = isPast || run.completed_at !== null ? 0 : Math.max(0, here - standing.seenAt);
  return Math.max(0, standing.at + passed - submittedAt);
}

/** The tab and the node that the address names. */
function useChoices(ids: readonly string[] | undefined) {
  const [params, change] = useAddress();
  const places = useMemo(() => new Map(ids?.map((id, node) => [id, node])), [ids]);
  const tab = TABS.find((name) => name === params.get("tab")) ?? "both";
  const show = useCallback((next: Tab) => change("tab", next, { replace: true }), [change]);
  const select = useCallback(
    (node: number | undefined) => change("node", ids?.[node ?? -1] ?? "", { replace: true }),
    [change, ids],
  );
  const name = params.get("node") ?? "";
  // What a node added is named behind it, and is found with it.
  const selected = places.get(name) ?? places.get(name.split("/")[0] ?? "");
  return { tab, show, selected, select };
}
