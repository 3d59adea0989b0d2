import type { RunAnswer, RunSummary, TaskSummary } from "../client/index.ts";
import { compareText, taskIdOf } from "../core/index.ts";
import { CheckFailed, UsageError } from "./errors.ts";
import { type Column, fieldLines, tableLines } from "./layout.ts";
import { printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import type { RunsOptions } from "./runs.ts";
import { atService } from "./service.ts";
import { ago, errorOf, printSafeJson, ranFor, shown, statusOf } from "./service-text.ts";
import { firstOf } from "./task-list.ts";

const MAX_PAGE = 1000;

const RUN_COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "NAME" },
  { title: "STATUS" },
  { title: "NODES", align: "right" },
  { title: "SUBMITTED", align: "right" },
  { title: "TOOK", align: "right" },
];
const NODE_COLUMNS: readonly Column[] = [
  { title: "NODE" },
  { title: "STATUS" },
  { title: "ATTEMPT", align: "right" },
  { title: "RAN", align: "right" },
  { title: "WORKER" },
  { title: "TASK" },
  { title: "ERROR" },
];

export async function listRuns(options: RunsOptions): Promise<void> {
  for (const option of ["cancel", "plan"] as const) {
    if (options[option]) throw new UsageError(`--${option} needs the id of a run`);
  }
  const { limit } = options;
  const runs = await atService(options, (client) =>
    firstOf(client.runs({ pageSize: Math.min(MAX_PAGE, limit + 1) }), limit + 1),
  );
  const listed = runs.slice(0, limit);
  if (options.json) await printSafeJson({ runs: listed });
  else if (listed.length === 0) process.stderr.write("no runs\n");
  else await printLines(tableLines(RUN_COLUMNS, listed.map(runRow), stdoutPalette()));
  if (runs.length > limit && !options.json)
    process.stderr.write(`there are more than these ${limit}; --limit shows more\n`);
}

export async function showRun(id: string, options: RunsOptions): Promise<void> {
  const { limit, json } = options;
  const { run, tasks } = await atService(options, async (client) => ({
    run: await client.run(id),
    tasks: await firstOf(client.tasks({ run: id }, { pageSize: Math.min(MAX_PAGE, limit) }), limit),
  }));
  if (json) return await printSafeJson({ ...run, tasks });
  const palette = stdoutPalette();
  await printLines([
    `${palette.bold(shown(run.name))} ${shown(run.status)}`,
    ...fieldLines(runFields(run, tasks), palette, stdoutColumns()),
    "",
    ...tableLines(NODE_COLUMNS, tasks.sort(byStart).map(nodeRow), palette),
  ]);
  if (tasks.length < run.nodes)
    process.stderr.write(`${tasks.length} of ${run.nodes} nodes are shown; --limit shows more\n`);
}

export async function cancelRun(id: string, options: RunsOptions): Promise<void> {
  const { cancelled, run } = await atService(options, async (client) => ({
    cancelled: (await client.cancelRun(id)).cancelled,
    run: await client.run(id),
  }));
  if (options.json) await printSafeJson({ cancelled, run_id: run.id });
  if (!cancelled) throw new CheckFailed(`run ${id} is ${run.status} already`);
  if (!options.json) await printLines([`${shown(run.id)} cancelled`]);
}

/** To the server what was skipped is cancelled; the two are told apart where all tasks are listed. */
function countsOf(run: RunAnswer, tasks: readonly TaskSummary[]): Readonly<Record<string, number>> {
  const nodes = tasks.filter(({ id, node }) => id === taskIdOf(run.id, node ?? ""));
  if (nodes.length < run.nodes) return run.counts;
  const skipped = nodes.filter((task) => statusOf(task) === "skipped").length;
  return { ...run.counts, cancelled: run.counts.cancelled - skipped, skipped };
}

function runFields(run: RunAnswer, tasks: readonly TaskSummary[]): (readonly [string, string])[] {
  const counts = Object.entries(countsOf(run, tasks))
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${shown(status)}`);
  return [
    ["id", shown(run.id)],
    ["agent", `${shown(run.agent_id)} in zone ${shown(run.zone)}`],
    ["submitted", `${shown(run.submitted_at)} (${ago(run.submitted_at)})`],
    ["took", took(run)],
    ["nodes", `${run.nodes}: ${counts.join(", ")}`],
    ...run.stuck.map(({ node, nodes, text }): readonly [string, string] => [
      "stuck",
      `${shown(node)}${nodes > 1 ? ` and ${nodes - 1} more` : ""}: ${shown(text)}`,
    ]),
  ];
}

/** As it went; what did not start comes last. */
function byStart(a: TaskSummary, b: TaskSummary): number {
  const [first, second] = [a.started_at ?? "~", b.started_at ?? "~"];
  return compareText(first, second) || compareText(a.node ?? "", b.node ?? "");
}

function runRow(run: RunSummary): string[] {
  const { id, name, status, nodes, submitted_at } = run;
  return [shown(id), shown(name), shown(status), String(nodes), ago(submitted_at), took(run)];
}

function took({ submitted_at, completed_at }: RunSummary): string {
  return ranFor({ started_at: submitted_at, completed_at });
}

function nodeRow(task: TaskSummary): string[] {
  const { node, attempt, worker_id, id } = task;
  return [
    shown(node),
    statusOf(task),
    attempt === 0 ? "" : String(attempt),
    ranFor(task),
    shown(worker_id),
    shown(id),
    errorOf(task),
  ];
}
