import type { Activity, Project } from "../plan/index.ts";
import type { Problem } from "../protocol/index.ts";

/** The project of a file, or what keeps it from being one. */
export type ReadResult =
  | { readonly ok: true; readonly project: Project }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export interface ReadOptions {
  /** Milliseconds since 1970, for what a file defers until some time. */
  readonly now: number;
}

/** Ten years in milliseconds, as for the estimates of a graph file. */
export const MAX_TICKS: number = 3650 * 24 * 3_600_000;
export const MAX_AMOUNT = 1_000_000_000;

/** What an activity is that its file says nothing more of. */
export const PLAIN: Pick<Activity, "priority" | "risk" | "speculate" | "state"> = {
  priority: 2,
  risk: "medium",
  speculate: false,
  state: { is: "open" },
};

const MAX_PROBLEMS = 50;

/** What is wrong with a file, in the order of its lines, up to so many that nobody wants to hear of more. */
export class Problems {
  readonly #problems: Problem[] = [];
  #isOver = false;

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  /** Reading on would be for nothing. */
  get isOver(): boolean {
    return this.#isOver;
  }

  add(line: number, message: string): void {
    if (this.#isOver) return;
    this.#problems.push({ line, column: 1, path: "", message });
    if (this.#problems.length === MAX_PROBLEMS) this.stop();
  }

  stop(): void {
    this.#isOver = true;
  }

  result(): ReadResult {
    const problems = this.#problems.toSorted((a, b) => a.line - b.line);
    const last = problems.at(-1);
    if (last && problems.length === MAX_PROBLEMS)
      problems.push({ ...last, message: "there may be more; nothing was read beyond this" });
    return { ok: false, problems };
  }
}

export function refusal(line: number, message: string): ReadResult {
  return { ok: false, problems: [{ line, column: 1, path: "", message }] };
}

/** The name of a file without its directories and its ending. */
export function baseName(fileName: string): string {
  const name = fileName.slice(Math.max(fileName.lastIndexOf("/"), fileName.lastIndexOf("\\")) + 1);
  const dot = name.lastIndexOf(".");
  return (dot > 0 ? name.slice(0, dot) : name) || "project";
}
