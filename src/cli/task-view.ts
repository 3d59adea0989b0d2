import type { LogLine, OrreryClient, TaskAnswer } from "../client/index.ts";
import { formatCount, SPECULATION_WORDS } from "../words/index.ts";
import { CheckFailed, UsageError } from "./errors.ts";
import { fieldLines } from "./layout.ts";
import { type Palette, printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import { ago, errorOf, printSafeJson, ranFor, safeJson, shown, statusOf } from "./service-text.ts";
import { waitMsOf } from "./submission.ts";
import type { TaskOptions } from "./task.ts";

/** As many as a request brings. */
const LOG_LINES = 10_000;

export async function showTask(id: string, options: TaskOptions): Promise<void> {
  const { wait, log, follow, json } = options;
  if (follow && !log) throw new UsageError("--follow goes with --log");
  await atService(options, async (client) => {
    if (log) return await showLog(client, id, options);
    const task =
      wait === undefined
        ? await client.task(id)
        : await client.waitForTask(id, { timeoutMs: waitMsOf(wait) });
    await (json ? printSafeJson(task) : printLines(taskLines(task, stdoutPalette())));
    if (wait !== undefined && task.status !== "completed") throw new CheckFailed();
  });
}

function taskLines(task: TaskAnswer, palette: Palette): string[] {
  const { progress, run_id, node } = task;
  const percent = progress?.fraction === null ? "" : `${Math.round((progress?.fraction ?? 0) * 100)}%`;
  const at = (time: string | null): string => (time === null ? "" : `${shown(time)} (${ago(time)})`);
  const fields: readonly (readonly [string, string])[] = [
    ["type", shown(task.task_type)],
    ["executor", shown(task.executor_id)],
    ["agent", `${shown(task.agent_id)} in zone ${shown(task.zone)}`],
    ["priority", `${shown(task.priority_tier)}, ${shown(task.priority_class)}`],
    ["run", run_id === null ? "" : `${shown(run_id)}, node ${shown(node)}`],
    ["submitted", at(task.enqueued_at)],
    ["not before", at(task.run_at)],
    ["deadline", shown(task.deadline)],
    ["started", at(task.started_at)],
    ["ended", at(task.completed_at)],
    ["ran", ranFor(task)],
    ["attempt", task.attempt === 0 ? "" : String(task.attempt)],
    ["worker", shown(task.worker_id)],
    ["progress", progress ? `${percent} ${shown(progress.message)}`.trim() : ""],
    ...speculationFields(task),
    ...budgetFields(task),
    ["error", errorOf(task)],
    ["payload", safeJson(task.payload)],
    ["result", task.status === "completed" ? resultOf(task) : ""],
  ];
  const known = fields.filter(([, value]) => value !== "");
  return [
    `${palette.bold(shown(task.id))} ${statusOf(task)}`,
    ...fieldLines(known, palette, stdoutColumns()),
  ];
}

function resultOf({ result, held_result: held }: TaskAnswer): string {
  return held ? `on its worker, ${formatCount(held.bytes)} bytes` : safeJson(result);
}

export function speculationFields({ speculation }: TaskAnswer): (readonly [string, string])[] {
  if (!speculation) return [];
  const { because, alternatives, winner, decided_by } = speculation;
  const vote =
    decided_by === null ? "not yet" : winner === null ? "nobody won" : `${shown(winner)} by ${decided_by}`;
  return [
    ["speculated", `in ${alternatives.length} alternatives: ${SPECULATION_WORDS[because]}`],
    ...alternatives.map(
      ({ task_id, tag, open, score }) =>
        [tag, `${shown(task_id)}${open ? " open" : ""}${score ? `, ${score.total} points` : ""}`] as const,
    ),
    ["vote", vote],
  ];
}

function budgetFields({ budget }: TaskAnswer): (readonly [string, string])[] {
  if (!budget) return [];
  const parts = Object.entries(budget.given) as [keyof typeof budget.given, number][];
  const amounts = parts.map(([part, given]) => {
    const all = formatCount(given + budget.recharged[part]);
    return `${part} ${budget.used ? `${formatCount(budget.used[part])} of ${all}` : all}`;
  });
  const waits = budget.exhausted === null ? "" : `; ${shown(budget.exhausted)} is used up: orrery recharge`;
  return [["budget", `${amounts.join(", ")}${waits}`]];
}

async function showLog(client: OrreryClient, id: string, options: TaskOptions): Promise<void> {
  const { follow, json } = options;
  if (follow) {
    for await (const line of client.followLog(id)) await printLines(json ? [safeJson(line)] : logTexts(line));
    return;
  }
  const lines = await client.log(id, { limit: LOG_LINES });
  if (json) await printSafeJson({ lines });
  else if (lines.length === 0) process.stderr.write(`${await nothingPrinted(client, id)}\n`);
  else await printLines(lines.flatMap(logTexts));
}

/** A node that is tried in several ways prints nothing itself. */
async function nothingPrinted(client: OrreryClient, id: string): Promise<string> {
  const { speculation } = await client.task(id);
  if (!speculation) return "it has printed nothing";
  const logs = speculation.alternatives.map(
    ({ task_id, tag }) => `  orrery task ${shown(task_id)} --log    ${tag}`,
  );
  return ["it was tried in several alternatives, which print for themselves:", ...logs].join("\n");
}

/** What was printed at once may have several lines, and a progress bar that drew itself over and over. */
function logTexts({ text }: LogLine): string[] {
  return text.split(/\r?\n/).map((line) => {
    const left = line.slice(line.lastIndexOf("\r") + 1);
    return shown(left.replaceAll("\t", "    "));
  });
}
