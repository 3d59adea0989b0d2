/**
 * What `orrery run` shows while it runs, on stderr.
 *
 * On a terminal, what happened scrolls by as lines, and a live block below them says where the run stands.
 * Elsewhere there are only lines, without a single control character.
 */

import { stripVTControlCharacters } from "node:util";
import { type ProgressView, renderBlock } from "./progress-block.ts";
import {
  type ProgressLine,
  type ProgressOutcome,
  plainEnd,
  plainLines,
  plainSummary,
  terminalEnd,
  terminalLines,
} from "./progress-line.ts";
import { textWidth } from "./terminal-text.ts";

export type { ProgressView } from "./progress-block.ts";
export type { ProgressLine, ProgressOutcome } from "./progress-line.ts";

export interface Progress {
  line(line: ProgressLine): void;
  /** Says something about the whole run. */
  note(text: string): void;
  update(view: ProgressView): void;
  /** The last call. */
  end(view: ProgressView, outcome: ProgressOutcome): void;
}

export interface ProgressOptions {
  readonly color: boolean;
  readonly interactive: boolean;
  /** The size of the screen where the stream does not know it. */
  readonly columns: number;
  readonly rows: number;
  /** Say only what went wrong. */
  readonly quiet: boolean;
}

const FRAME_MS = 100;
const SUMMARY_MS = 10_000;

export function createProgress(stream: NodeJS.WriteStream, options: ProgressOptions): Progress {
  if (options.quiet) return quietProgress(stream);
  return options.interactive ? new LiveProgress(stream, options) : plainProgress(stream);
}

const TROUBLE: ReadonlySet<ProgressLine["type"]> = new Set(["failed", "timed-out", "lost"]);

function quietProgress(stream: NodeJS.WriteStream): Progress {
  return {
    line(line) {
      if (TROUBLE.has(line.type)) stream.write(joinLines(plainLines(line)));
    },
    note: (text) => void stream.write(joinLines([text])),
    update() {},
    end(view, outcome) {
      if (outcome !== "completed") stream.write(joinLines([plainEnd(view, outcome, Date.now())]));
    },
  };
}

function plainProgress(stream: NodeJS.WriteStream): Progress {
  let latest: ProgressView | undefined;
  let printedMs = performance.now();
  const print = (...lines: string[]): void => {
    stream.write(joinLines(lines));
    printedMs = performance.now();
  };
  const timer = setInterval(() => {
    if (latest && performance.now() - printedMs >= SUMMARY_MS) print(plainSummary(latest, Date.now()));
  }, FRAME_MS).unref();
  return {
    line: (line) => print(...plainLines(line)),
    note: (text) => print(text),
    update(view) {
      latest = view;
    },
    end(view, outcome) {
      clearInterval(timer);
      print(plainEnd(view, outcome, Date.now()));
    },
  };
}

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
const FATAL_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Owns the lower end of the screen, and the visibility of the cursor, until it ends or the process does. */
class LiveProgress implements Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #options: ProgressOptions;
  readonly #timer: NodeJS.Timeout;
  #view: ProgressView | undefined;
  #viewedMs = 0;
  #pending: string[] = [];
  #drawn: string[] = [];
  #drawnColumns = 0;

  constructor(stream: NodeJS.WriteStream, options: ProgressOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.write(HIDE_CURSOR);
    this.#timer = setInterval(() => this.#draw(), FRAME_MS).unref();
    process.on("exit", this.#restore);
    for (const signal of FATAL_SIGNALS) process.on(signal, this.#onSignal);
  }

  line(line: ProgressLine): void {
    // The block says what is running.
    if (line.type !== "started") this.#pending.push(...terminalLines(line, this.#options.color));
  }

  note(text: string): void {
    this.#pending.push(text);
  }

  update(view: ProgressView): void {
    this.#view = view;
    this.#viewedMs = performance.now();
  }

  end(view: ProgressView, outcome: ProgressOutcome): void {
    this.#view = undefined;
    this.#pending.push(terminalEnd(view, outcome, this.#options.color));
    this.#restore();
  }

  #draw(): void {
    const columns = this.#stream.columns || this.#options.columns;
    const rows = this.#stream.rows || this.#options.rows;
    const view = this.#currentView();
    const block = view ? renderBlock(view, columns, rows, this.#options.color) : [];
    const isSame = columns === this.#drawnColumns && block.join("\n") === this.#drawn.join("\n");
    if (isSame && this.#pending.length === 0) return;

    this.#stream.write(eraseLines(this.#drawn, columns) + joinLines(this.#pending) + joinLines(block));
    this.#pending = [];
    this.#drawn = block;
    this.#drawnColumns = columns;
  }

  /** Time goes on between two updates. */
  #currentView(): ProgressView | undefined {
    if (!this.#view) return undefined;
    const sinceMs = performance.now() - this.#viewedMs;
    const { elapsedMs, remainingMs } = this.#view;
    return {
      ...this.#view,
      elapsedMs: elapsedMs + sinceMs,
      remainingMs: remainingMs === undefined ? undefined : remainingMs - sinceMs,
    };
  }

  readonly #restore = (): void => {
    clearInterval(this.#timer);
    process.off("exit", this.#restore);
    for (const signal of FATAL_SIGNALS) process.off(signal, this.#onSignal);
    this.#draw();
    this.#stream.write(SHOW_CURSOR);
  };

  /** A signal that nobody else listens to would end the process without its exit handlers. */
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    if (process.listenerCount(signal) > 1) return;
    this.#restore();
    process.kill(process.pid, signal);
  };
}

function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Erase the block and go back to its top. A terminal that became narrower has wrapped the lines that no longer
 * fit, so they are counted at its present width. Line by line: erasing from the top of the screen downwards at
 * once makes some terminals (tmux) keep what was erased in their history.
 */
function eraseLines(lines: readonly string[], columns: number): string {
  const rowsOf = (line: string): number =>
    Math.max(1, Math.ceil(textWidth(stripVTControlCharacters(line)) / columns));
  const rows = lines.reduce((sum, line) => sum + rowsOf(line), 0);
  // The row below the block too: a terminal shows a typed Ctrl-C there.
  return rows === 0 ? "" : `\r\x1b[2K${"\x1b[1A\x1b[2K".repeat(rows)}`;
}
