import { type RefObject, useRef } from "react";
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

/** The run as files. */
export function Exports({ model, layout, now, pictures }: ExportsProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const { run } = model;
  const name = `${run.name.replace(/[^\w.-]+/g, "-").slice(0, 60)}-${run.id.slice(-8)}`;
  const palette = () => paletteOf(document.documentElement);
  const picture = (which: keyof Pictures) => {
    const seen = pictures.current[which];
    if (seen) return svgOf(seen.paint, seen.size, palette(), `${which} of ${run.name}`);
    if (which === "gantt") return wholeGantt(model, now, timeMode.get(), palette());
    return layout ? wholeGraph(model, layout, palette()) : "";
  };
  const files: readonly (readonly [string, () => void])[] = [
    ["Report (HTML)", () => save(`${name}.html`, "text/html", report())],
    ["Nodes (CSV)", () => save(`${name}.csv`, "text/csv", csvOf(nodeRecords(model)))],
    ["Nodes (NDJSON)", () => save(`${name}.ndjson`, "application/x-ndjson", ndjsonOf(nodeRecords(model)))],
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
  const take = (make: () => void) => {
    make();
    menu.current?.removeAttribute("open");
  };
  return (
    <details className="menu" ref={menu}>
      <summary className="button">Export</summary>
      <div className="menu-body exports">
        {files.map(([title, make]) => (
          <button key={title} type="button" onClick={() => take(make)}>
            {title}
          </button>
        ))}
      </div>
    </details>
  );
}
