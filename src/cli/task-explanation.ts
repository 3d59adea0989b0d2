import { type OrreryClient, OrreryError, type TaskAnswer, type WhyAnswer } from "../client/index.ts";
import { alternativeIdOf, taskIdOf } from "../core/index.ts";
import { formatMs } from "../words/index.ts";
import { fieldLines, hangingLines } from "./layout.ts";
import { type Palette, printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import { errorOf, printSafeJson, ranFor, shown, statusOf } from "./service-text.ts";
import { speculationFields } from "./task-view.ts";
import type { WhyOptions } from "./why.ts";

const DEFAULT_SERVER = "http://127.0.0.1:2026";

/** Asks about a task, or about a node of a run: its task's id follows from both. */
export async function explainTask(
  taskOrRun: string,
  node: string | undefined,
  options: WhyOptions,
): Promise<void> {
  const server = options.server ?? process.env["ORRERY_URL"] ?? DEFAULT_SERVER;
  const { answer, task, cause } = await atService({ ...options, server }, async (client) => {
    const found = await find(client, taskOrRun, node);
    return { ...found, cause: await causeOf(client, found.task) };
  });
  if (options.json) return await printSafeJson({ ...answer, speculation: task.speculation });
  const columns = stdoutColumns();
  const palette = stdoutPalette();
  await printLines([
    ...explanationLines(answer, task, node ?? answer.id, columns, palette),
    ...(cause === "" ? [] : hangingLines("", cause, columns)),
    ...fieldLines(speculationFields(task), palette, columns),
  ]);
}

interface Found {
  readonly answer: WhyAnswer;
  readonly task: TaskAnswer;
}

/** An alternative of a node is called by both names, as lists of tasks call it. */
async function find(client: OrreryClient, taskOrRun: string, node: string | undefined): Promise<Found> {
  const of = async (id: string): Promise<Found> => ({
    answer: await client.why(id),
    task: await client.task(id),
  });
  if (node === undefined) return await of(taskOrRun);
  const [, name = "", tag = ""] = /^(.+) (speculate:\w+)$/s.exec(node) ?? [];
  if (tag === "") return await of(taskIdOf(taskOrRun, node));
  try {
    return await of(taskIdOf(taskOrRun, node));
  } catch (error) {
    if (!(error instanceof OrreryError) || error.status !== 404) throw error;
    return await of(alternativeIdOf(taskIdOf(taskOrRun, name), tag));
  }
}

const DID_NOT_COMPLETE = " did not complete";

/** How the node ended because of which this one was skipped. */
async function causeOf(client: OrreryClient, task: TaskAnswer): Promise<string> {
  const { run_id, error_code, error_message } = task;
  if (error_code !== "skipped" || run_id === null || !error_message?.endsWith(DID_NOT_COMPLETE)) return "";
  const name = error_message.slice(0, -DID_NOT_COMPLETE.length);
  const other = await client.task(taskIdOf(run_id, name));
  const error = errorOf(other);
  return `${shown(name)}, which it needs, ${other.status === "failed" ? "failed" : `was ${statusOf(other)}`}${error === "" ? "" : `: ${error}`}.`;
}

function explanationLines(
  answer: WhyAnswer,
  task: TaskAnswer,
  name: string,
  columns: number,
  palette: Palette,
): string[] {
  const { status, waiting, placed, inputs } = answer;
  const title = palette.bold(shown(name));
  const [primary, ...others] = waiting.map(({ text }) => shown(text));
  const lines =
    primary === undefined
      ? hangingLines("", `${title} is ${statusOf(task)}${endOf(task, placed !== null)}.`, columns)
      : [`${title} does not run yet: it is ${shown(status)}.`, ...hangingLines("  ", primary, columns)];
  if (others.length > 0) lines.push("", "Then it would still wait for this:");
  for (const text of others) lines.push(...hangingLines("  - ", text, columns));
  lines.push(...outlookLines(answer, columns));
  if (placed)
    lines.push(...(primary === undefined ? [] : [""]), ...hangingLines("", shown(placed.text), columns));
  if (placed?.runner_up) lines.push(`The runner-up was ${shown(placed.runner_up)}.`);
  if (inputs && inputs.length > 0) {
    const named = inputs.map(({ text }) => shown(text)).join("; ");
    lines.push(...hangingLines("", `It gets ${named}.`, columns));
  }
  return lines;
}

/** What holds it up in the end, when it should start, and what would make that sooner. */
function outlookLines({ chain, forecast, sooner }: WhyAnswer, columns: number): string[] {
  const lines: string[] = [];
  if (chain.length > 1) {
    const links = chain.map(({ node, status }) => `${shown(node)} (${shown(status)})`);
    lines.push(...hangingLines("", `It hangs on ${links.join(", that on ")}.`, columns));
  }
  if (forecast) lines.push(`It should start in about ${formatMs(Math.round(forecast.starts_in * 1000))}.`);
  if (sooner.length === 0) return lines.length === 0 ? [] : ["", ...lines];
  lines.push(forecast ? "It would start sooner if" : "It would start if");
  for (const { text, starts_in } of sooner)
    lines.push(
      ...hangingLines("  - ", `${shown(text)}: in ${formatMs(Math.round(starts_in * 1000))}`, columns),
    );
  return ["", ...lines];
}

/** Where it ran and for how long, and what went wrong; where it went first is said elsewhere. */
function endOf(task: TaskAnswer, isPlaced: boolean): string {
  const where = task.worker_id === null || isPlaced ? "" : ` on ${shown(task.worker_id)}`;
  const ran = task.started_at === null ? "" : `, after ${ranFor(task)}`;
  const error = task.error_code === "skipped" ? "" : errorOf(task);
  return `${where === "" ? "" : `; it ran${where}`}${task.status === "running" ? "" : ran}${error === "" ? "" : `: ${error}`}`;
}
