import type { WhyAnswer } from "../client/index.ts";
import { taskIdOf } from "../core/index.ts";
import { hangingLines } from "./layout.ts";
import { type Palette, printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import { printSafeJson, shown } from "./service-text.ts";
import type { WhyOptions } from "./why.ts";

const DEFAULT_SERVER = "http://127.0.0.1:2026";

/** Asks about a task, or about a node of a run: its task's id follows from both. */
export async function explainTask(
  taskOrRun: string,
  node: string | undefined,
  options: WhyOptions,
): Promise<void> {
  const id = node === undefined ? taskOrRun : taskIdOf(taskOrRun, node);
  const server = options.server ?? process.env["ORRERY_URL"] ?? DEFAULT_SERVER;
  const answer = await atService({ ...options, server }, (client) => client.why(id));
  if (options.json) await printSafeJson(answer);
  else await printLines(explanationLines(answer, node ?? answer.id, stdoutColumns(), stdoutPalette()));
}

function explanationLines(answer: WhyAnswer, name: string, columns: number, palette: Palette): string[] {
  const { status, waiting, placed } = answer;
  const title = palette.bold(shown(name));
  const [primary, ...others] = waiting.map(({ text }) => shown(text));
  const lines =
    primary === undefined
      ? [`${title} is ${shown(status)}.`]
      : [`${title} does not run yet: it is ${shown(status)}.`, ...hangingLines("  ", primary, columns)];
  if (others.length > 0) lines.push("", "Then it would still wait for this:");
  for (const text of others) lines.push(...hangingLines("  - ", text, columns));
  if (placed)
    lines.push(...(primary === undefined ? [] : [""]), ...hangingLines("", shown(placed.text), columns));
  if (placed?.runner_up) lines.push(`The runner-up was ${shown(placed.runner_up)}.`);
  return lines;
}
