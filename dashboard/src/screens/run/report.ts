import type { Palette } from "../../parts/picture/palette.ts";
import { escaped } from "../../parts/picture/svg-pen.ts";
import { shapeOf } from "../../parts/status-shapes.ts";
import { spanText } from "../../time/spans.ts";
import type { RunModel } from "./model.ts";
import { type NodeRecord, nodeRecords } from "./node-records.ts";
import { countsOf } from "./standing.ts";
import { MOST_ROWS } from "./whole-pictures.ts";

interface ReportOptions {
  readonly model: RunModel;
  /** In milliseconds after the run was submitted. */
  readonly now: number;
  readonly palette: Palette;
  /** Pictures as SVG. */
  readonly graph: string | undefined;
  readonly gantt: string;
}

/** A run as one file that opens anywhere, without a network, a server or a script. */
export function reportOf({ model, now, palette, graph, gantt }: ReportOptions): string {
  const { run, submittedAt } = model;
  const records = [...nodeRecords(model)];
  const madeAt = new Date(submittedAt + now).toISOString();
  const took =
    run.completed_at === null
      ? `runs for ${spanText(now)}`
      : `took ${spanText(Date.parse(run.completed_at) - submittedAt)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(run.name)}: a run of Orrery</title>
<style>${styleOf(palette)}</style>
</head>
<body>
<h1>${escaped(run.name)} <span class="${run.status}">${shapeOf(run.status)} ${run.status}</span></h1>
<p class="quiet">${escaped(run.id)} · as of ${madeAt}</p>
${factsOf(model, took)}
${failuresOf(records)}
${stuckOf(model)}
<h2>When its nodes ran</h2>
<figure>${gantt}</figure>
${model.shape.size > MOST_ROWS ? `<p class="quiet">The first ${MOST_ROWS} of ${model.shape.size} nodes; the table has all.</p>` : ""}
${graph === undefined ? "" : `<h2>Graph</h2>\n<figure>${graph}</figure>`}
<p class="quiet">Amber holds up the end. The thin line below a bar is its estimate, the line before it is how long the node was ready.</p>
${pathOf(model)}
<h2>Nodes</h2>
${tableOf(records)}
</body>
</html>
`;
}

function factsOf({ run, standing }: RunModel, took: string): string {
  const counts = [...countsOf(standing)].map(([status, count]) => `${shapeOf(status)} ${count} ${status}`);
  const facts = [
    ["nodes", counts.join(", ")],
    ["time", took],
    ["submitted", `${run.submitted_at} by ${run.agent_id} in the zone ${run.zone}`],
    ["ended", run.completed_at ?? "not yet"],
    ...(run.data ? [["data moved", `${run.data.moved_bytes} bytes`]] : []),
  ];
  return `<dl>${facts.map(([name, value]) => `<dt>${name}</dt><dd>${escaped(value ?? "")}</dd>`).join("")}</dl>`;
}

function failuresOf(records: readonly NodeRecord[]): string {
  const failed = records.filter(({ state }) => state === "failed");
  if (failed.length === 0) return "";
  const items = failed.map(({ node, error_code, error_message, attempts, worker }) => {
    const where = worker === null ? "" : `, last on ${escaped(worker)}`;
    const why =
      error_code === null
        ? "the task itself says why"
        : `${escaped(error_code)}: ${escaped(error_message ?? "")}`;
    return `<li><b>${escaped(node)}</b> after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}${where}: ${why}</li>`;
  });
  return `<h2>What failed, and why</h2>\n<ul class="failed">${items.join("\n")}</ul>`;
}

function stuckOf({ run }: RunModel): string {
  if (run.stuck.length === 0) return "";
  const items = run.stuck.map(({ node, nodes, text }) => {
    const more = nodes > 1 ? ` and ${nodes - 1} more` : "";
    return `<li><b>${escaped(node)}</b>${more}: ${escaped(text)}</li>`;
  });
  return `<h2>What no worker could run</h2>\n<ul>${items.join("\n")}</ul>`;
}

function pathOf({ criticalPath, shape }: RunModel): string {
  if (criticalPath.length === 0) return "";
  const names = criticalPath.map((node) => escaped(shape.ids[node] ?? ""));
  return `<h2>What holds up the end</h2>\n<p>${names.join(" → ")}</p>`;
}

function tableOf(records: readonly NodeRecord[]): string {
  const columns = ["node", "state", "type", "started", "waited", "ran", "estimate", "worker", "needs"];
  const rows = records.map((one) => {
    const span = (ms: number | null) => (ms === null ? "–" : spanText(ms));
    const cells = [
      one.task_type,
      one.started_at ?? "–",
      span(one.waited_ms),
      span(one.ran_ms),
      span(one.estimate_ms),
      one.worker ?? "–",
      one.needs.join(", "),
    ];
    return `<tr><th scope="row">${escaped(one.node)}</th><td class="${one.state}">${shapeOf(one.state)} ${one.state}</td>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join("")}</tr>`;
  });
  return `<table><thead><tr>${columns.map((name) => `<th scope="col">${name}</th>`).join("")}</tr></thead>\n<tbody>${rows.join("\n")}</tbody></table>`;
}

function styleOf(palette: Palette): string {
  const { text, page, surface, quiet, line, running, completed, failed, cancelled } = palette;
  return `body{margin:0 auto;padding:24px;max-width:1250px;background:${page};color:${text};font:14px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums}
h1{font-size:22px}h1 span{font-size:15px}h2{font-size:15px;margin:24px 0 8px}.quiet{color:${quiet}}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px}dt{color:${quiet}}dd{margin:0}
figure{margin:0;border:1px solid ${line};border-radius:10px;overflow:auto;background:${surface}}svg{display:block}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:3px 10px 3px 0;border-top:1px solid ${line};font-weight:400;overflow-wrap:anywhere}thead th{color:${quiet};border:0}
.running{color:${running}}.completed{color:${completed}}.failed{color:${failed}}.cancelled,.skipped{color:${cancelled}}`;
}
