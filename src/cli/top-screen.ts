import { setTimeout as sleep } from "node:timers/promises";
import type { OrreryClient } from "../client/index.ts";
import { CheckFailed, CliError, UsageError } from "./errors.ts";
import { printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import { printSafeJson } from "./service-text.ts";
import { fitColored } from "./terminal-text.ts";
import type { TopOptions } from "./top.ts";
import { type Sample, topLines } from "./top-view.ts";

const EVERY_MS = 1_000;
const WITHIN_MS = 5_000;
const USUAL_STATUS = "q ends";
const CTRL_C = "\u0003";
/** Another screen, without a cursor; and the way back. */
const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

export async function showTop(options: TopOptions): Promise<void> {
  const first = await take(options);
  if (options.json) await printSafeJson(first);
  else if (options.once || !process.stdout.isTTY) await printLines(topLines(first, stdoutPalette()));
  else await watch(options, first);
}

/** Tried once: the next sample is due in a second anyway. */
function take(options: TopOptions): Promise<Sample> {
  const look = async (client: OrreryClient): Promise<Sample> => {
    const signal = AbortSignal.timeout(WITHIN_MS);
    const [overview, workers] = await Promise.all([client.overview({ signal }), client.workers({ signal })]);
    return { overview, workers };
  };
  return atService(options, look, { retryForMs: 0 }).catch((error: Error) => {
    if (error.name !== "TimeoutError") throw error;
    throw new CheckFailed(`${options.server} does not answer within ${WITHIN_MS / 1000} seconds`);
  });
}

/** Until somebody ends it; the terminal is then as it was. */
async function watch(options: TopOptions, first: Sample): Promise<void> {
  const screen = openScreen();
  try {
    let sample = first;
    let status = USUAL_STATUS;
    while (!screen.ended.aborted) {
      screen.draw(sample, status);
      await sleep(EVERY_MS, undefined, { signal: screen.ended }).catch(() => {});
      if (screen.ended.aborted) return;
      const next = await take(options).catch((error: unknown) => error as Error);
      if (!(next instanceof Error)) {
        sample = next;
        status = USUAL_STATUS;
      }
      // A key that is not valid does not become so; a server that is away may come back.
      else if (!(next instanceof CliError) || next instanceof UsageError) throw next;
      else status = next.message;
    }
  } finally {
    screen.close();
  }
}

interface Screen {
  readonly ended: AbortSignal;
  draw(sample: Sample, status: string): void;
  close(): void;
}

function openScreen(): Screen {
  const { stdin, stdout } = process;
  const ending = new AbortController();
  const end = () => ending.abort();
  const onKey = (key: string) => {
    if (key.includes("q") || key.includes(CTRL_C)) end();
  };
  stdout.write(ENTER);
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.setEncoding("utf8").on("data", onKey);
  process.on("SIGINT", end).on("SIGTERM", end);
  const close = () => {
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.off("data", onKey).pause();
    process.off("SIGINT", end).off("SIGTERM", end).off("exit", close);
    stdout.write(LEAVE);
  };
  // Whatever ends us, the terminal must not stay like this.
  process.once("exit", close);
  return { ended: ending.signal, draw, close };
}

/** Over what stands there, line by line: clearing first would flicker. */
function draw(sample: Sample, status: string): void {
  const palette = stdoutPalette();
  const rows = process.stdout.rows - 1;
  // In the last column a terminal waits to wrap, and clearing the rest of the line would clear that one.
  const columns = stdoutColumns() - 1;
  const lines = [...topLines(sample, palette, { columns, rows: rows - 2 }), "", palette.dim(status)];
  process.stdout.write(
    HOME +
      lines
        .slice(0, rows)
        .map((line) => `${fitColored(line, columns)}${CLEAR_LINE}\n`)
        .join("") +
      CLEAR_BELOW,
  );
}
