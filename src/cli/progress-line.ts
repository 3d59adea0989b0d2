import colors from "picocolors";
import { formatDuration } from "../words/index.ts";
import { describeCounts, type ProgressView } from "./progress-block.ts";
import { neutralise } from "./terminal-text.ts";

/** Something that happened in a run, said once. */
export interface ProgressLine {
  readonly type:
    | "started"
    | "finished"
    | "failed"
    | "timed-out"
    | "retrying"
    | "cancelled"
    | "skipped"
    | "lost"
    | "output";
  readonly node: string;
  /** For "output" the text, of one line or more. */
  readonly detail: string;
  /** Wall clock. */
  readonly atMs: number;
}

export type ProgressOutcome = "completed" | "failed" | "cancelled" | "held";

type Tone = "green" | "red" | "yellow" | "cyan" | "dim";

const MARKS: Record<Exclude<ProgressLine["type"], "output">, readonly [mark: string, tone: Tone]> = {
  started: ["▸", "cyan"],
  finished: ["✓", "green"],
  failed: ["✗", "red"],
  "timed-out": ["✗", "red"],
  retrying: ["↻", "yellow"],
  cancelled: ["–", "yellow"],
  skipped: ["–", "dim"],
  lost: ["!", "yellow"],
};

const END_MARKS: Record<ProgressOutcome, readonly [mark: string, tone: Tone]> = {
  completed: ["✓", "green"],
  failed: ["✗", "red"],
  cancelled: ["–", "yellow"],
  held: ["‖", "yellow"],
};

const TYPE_WIDTH = "timed-out".length;

/** For a log: a time, words and no control characters. */
export function plainLines(line: ProgressLine): string[] {
  const node = neutralise(line.node);
  if (line.type !== "output")
    return [`${clock(line.atMs)} ${line.type} ${node} ${neutralise(line.detail)}`.trimEnd()];
  return outputTexts(line.detail).map((text) => `${clock(line.atMs)} ${node} | ${text}`);
}

/** For a terminal: a mark that is found at a glance, and no time. */
export function terminalLines(line: ProgressLine, color: boolean): string[] {
  const palette = colors.createColors(color);
  const node = neutralise(line.node);
  if (line.type === "output")
    return outputTexts(line.detail).map((text) => `${palette.dim(`${node} │`)} ${text}`);
  const [mark, tone] = MARKS[line.type];
  const type = palette[tone](`${mark} ${line.type.padEnd(TYPE_WIDTH)}`);
  return [`${type} ${palette.bold(node)} ${neutralise(line.detail)}`.trimEnd()];
}

export function plainEnd(view: ProgressView, outcome: ProgressOutcome, atMs: number): string {
  return `${clock(atMs)} ${describeEnd(view, outcome)}`;
}

export function terminalEnd(view: ProgressView, outcome: ProgressOutcome, color: boolean): string {
  const [mark, tone] = END_MARKS[outcome];
  return `${colors.createColors(color)[tone](mark)} ${describeEnd(view, outcome)}`;
}

export function plainSummary(view: ProgressView, atMs: number): string {
  return `${clock(atMs)} ${neutralise(view.name)}: ${describeCounts(view).join(", ")}`;
}

/** Short spans with a fraction, longer ones in whole seconds. */
export function formatSpan(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(ms < 1000 ? 2 : 1)}s` : formatDuration(ms);
}

function describeEnd(view: ProgressView, outcome: ProgressOutcome): string {
  const counts = [`${view.completed}/${view.total} done`];
  for (const count of ["failed", "skipped", "cancelled", "waiting"] as const) {
    if (view[count] > 0 && (count !== "waiting" || outcome === "held"))
      counts.push(`${view[count]} ${count}`);
  }
  const { elapsedMs } = view;
  const duration = elapsedMs < 10_000 ? `${(elapsedMs / 1_000).toFixed(1)}s` : formatDuration(elapsedMs);
  return `${neutralise(view.name)} ${outcome}: ${counts.join(", ")} in ${duration}`;
}

function outputTexts(text: string): string[] {
  // What a carriage return let stand last: a progress bar draws itself over and over.
  const lines = text.split(/\r?\n/).map((line) => line.slice(line.lastIndexOf("\r") + 1));
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => neutralise(line.replaceAll("\t", "    ")));
}

/** Local time, as in the terminal's other logs. */
function clock(atMs: number): string {
  const at = new Date(atMs);
  const [hours, minutes, seconds] = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `${hours}:${minutes}:${seconds}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}
