import type { Project } from "../plan/index.ts";
import type { Problem } from "../protocol/index.ts";

/** The project of a file, or everything that keeps it from being one. */
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

const MAX_SHOWN = 50;

/** What is wrong with a file of lines, collected so that it can be told at once. */
export class Problems {
  readonly #first: Problem[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(line: number, message: string): void {
    this.#count += 1;
    if (this.#first.length < MAX_SHOWN) this.#first.push({ line, column: 1, path: "", message });
  }

  result(): ReadResult {
    const more = this.#count - this.#first.length;
    const last = this.#first.at(-1);
    const problems = [...this.#first].sort((a, b) => a.line - b.line);
    if (last && more > 0) problems.push({ ...last, message: `and ${more} more` });
    return { ok: false, problems };
  }
}

export function refusal(line: number, message: string): ReadResult {
  return { ok: false, problems: [{ line, column: 1, path: "", message }] };
}

/** The name of a file without its directories and its ending. */
export function baseName(fileName: string): string {
  return fileName.replace(/^.*[\\/]/s, "").replace(/(?<=.)\.[^.]*$/s, "") || "project";
}
