import type { RunPlanAnswer } from "../client/index.ts";
import { compareText } from "../core/index.ts";
import { countOf, formatMs } from "../words/index.ts";
import { type Column, fieldLines, tableLines } from "./layout.ts";
import { printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import type { RunsOptions } from "./runs.ts";
import { atService } from "./service.ts";
import { printSafeJson, shown } from "./service-text.ts";

type PlannedNode = RunPlanAnswer["nodes"][number];

const COLUMNS: readonly Column[] = [
  { title: "" },
  { title: "NODE" },
  { title: "STATUS" },
  { title: "STARTS", align: "right" },
  { title: "ENDS", align: "right" },
  { title: "" },
];

/** What happened in a run, and what should: times are told from now, what is past with a minus. */
export async function planRun(id: string, options: RunsOptions): Promise<void> {
  const plan = await atService(options, (client) => client.runPlan(id));
  if (options.json) return await printSafeJson(plan);
  const palette = stdoutPalette();
  const nodes = plan.nodes.toSorted(byStart).slice(0, options.limit);
  await printLines([
    ...fieldLines(fieldsOf(plan), palette, stdoutColumns()),
    "",
    ...tableLines(
      COLUMNS,
      nodes.map((node) => rowOf(node, plan.planned_at)),
      palette,
    ),
  ]);
  if (nodes.length < plan.nodes.length)
    process.stderr.write(`${nodes.length} of ${plan.nodes.length} nodes are shown; --limit shows more\n`);
}

function fieldsOf(plan: RunPlanAnswer): (readonly [string, string])[] {
  const { status, planned_at, expected_end, earliest_end, nodes } = plan;
  if (status !== "running") return [["run", shown(status)]];
  const unplanned = nodes.filter(({ skipped }) => skipped !== null).length;
  if (expected_end === null)
    return [["expected end", `unknown: ${countOf(unplanned, "node")} cannot be planned`]];
  return [
    ["expected end", `${shown(expected_end)} (${fromNow(expected_end, planned_at)})`],
    ["earliest end", `${fromNow(earliest_end, planned_at)}, if nothing had to wait for a slot or a limit`],
  ];
}

function byStart(a: PlannedNode, b: PlannedNode): number {
  const start = ({ started_at, expected_start }: PlannedNode) => started_at ?? expected_start ?? "~";
  return compareText(start(a), start(b)) || compareText(a.node, b.node);
}

function rowOf(node: PlannedNode, now: string): string[] {
  const { started_at, ended_at, expected_start, expected_end, critical, skipped, alternatives } = node;
  return [
    critical ? "*" : "",
    shown(node.node),
    shown(node.status),
    fromNow(started_at ?? expected_start, now),
    fromNow(ended_at ?? expected_end, now),
    skipped === null ? alternatives.map(shown).join(", ") : `not planned: ${shown(skipped)}`,
  ];
}

function fromNow(time: string | null, now: string): string {
  if (time === null) return "";
  const ms = Date.parse(time) - Date.parse(now);
  if (ms === 0) return "now";
  return ms < 0 ? `-${formatMs(-ms)}` : `+${formatMs(ms)}`;
}
