import { type RefObject, useRef, useState } from "react";
import { useMoment } from "../../api/moment.ts";
import { open } from "../../api/request.ts";
import { runPath } from "../../api/run-queries.ts";
import { paletteOf } from "../../parts/picture/palette.ts";
import type { Paint, Size } from "../../parts/picture/picture.tsx";
import { save } from "../../parts/save.ts";
import { timeMode } from "../../time/time.tsx";
import type { Layout } from "./layout.ts";
import type { RunModel } from "./model.ts";
import { csvOf, ndjsonOf, nodeRecords } from "./node-records.ts";
import { reportOf } from "./report.ts";
import { svgOf, wholeGantt, wholeGraph } from "./whole-pictures.ts";

/** How the pictures are painted now, of those that are seen. */
export interface Pictures {
  readonly graph?: { readonly paint: Paint; readonly size: Size } | undefined;
  readonly gantt?: { readonly paint: Paint; readonly size: Size } | undefined;
}

interface ExportsProps {
  readonly model: RunModel;
  readonly layout: Layout | undefined;
  readonly now: number;
  readonly pictures: RefObject<Pictures>;
}

type File = readonly [title: string, make: () => void | Promise<void>];

const LONGEST_MS = 180_000;

/** The run as files. */
export function Exports({ model, layout, now, pictures }: ExportsProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const isNow = useMoment() === undefined;
  const [problem, setProblem] = useState("");
  const { run } = model;
  const name = `${run.name.replace(/[^\w.-]+/g, "-").slice(0, 60)}-${run.id.slice(-8)}`;
  const palette = () => paletteOf(document.documentElement);
  const picture = (which: keyof Pictures) => {
    const seen = pictures.current[which];
    if (seen) return svgOf(seen.paint, seen.size, palette(), `${which} of ${run.name}`);
    if (which === "gantt") return wholeGantt(model, now, timeMode.get(), palette());
    return layout ? wholeGraph(model, layout, palette()) : "";
  };
  // All that happened, also after a moment that is looked at.
  const ofTheLedger: readonly File[] = [
    ["Events (NDJSON)", () => saveFrom(`${runPath(run.id)}/history`, `${name}-events.ndjson`)],
    ["Trace (for Perfetto)", () => saveFrom(`${runPath(run.id)}/trace`, `${name}.trace.json`)],
  ];
  const files: readonly File[] = [
    ["Report (HTML)", () => save(`${name}.html`, "text/html", report())],
    ["Nodes (CSV)", () => save(`${name}.csv`, "text/csv", csvOf(nodeRecords(model)))],
    ["Nodes (NDJSON)", () => save(`${name}.ndjson`, "application/x-ndjson", ndjsonOf(nodeRecords(model)))],
    ...(isNow ? ofTheLedger : []),
    ["Graph (SVG)", () => save(`${name}-graph.svg`, "image/svg+xml", picture("graph"))],
    ["Gantt (SVG)", () => save(`${name}-gantt.svg`, "image/svg+xml", picture("gantt"))],
  ];
  const report = () =>
    reportOf({
      model,
      now,
      palette: palette(),
      graph: layout && wholeGraph(model, layout, palette()),
      gantt: wholeGantt(model, now, timeMode.get(), palette()),
    });
  const take = async (make: () => void | Promise<void>) => {
    setProblem("");
    try {
      await make();
      menu.current?.removeAttribute("open");
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <details className="menu" ref={menu}>
      <summary className="button">Export</summary>
      <div className="menu-body exports">
        {files.map(([title, make]) => (
          <button key={title} type="button" onClick={() => void take(make)}>
            {title}
          </button>
        ))}
        <p role="alert" className="problem">
          {problem}
        </p>
      </div>
    </details>
  );
}

/** What only the server has. */
async function saveFrom(path: string, name: string): Promise<void> {
  const answer = await open(path, {}, AbortSignal.timeout(LONGEST_MS));
  save(name, "application/json", await answer.blob());
}
