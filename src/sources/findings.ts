import type { Finding } from "../plan/index.ts";

/** So that a file of nothing but dirt does not fill the memory with what is said of it. */
const MAX_KEPT = 100_000;

/** What was wrong with a file and survived. */
export class Findings {
  readonly #findings: Finding[] = [];
  #count = 0;
  #last = 1;

  add(line: number, code: string, message: string, id?: string): void {
    this.#count += 1;
    this.#last = Math.max(this.#last, line);
    if (this.#findings.length >= MAX_KEPT) return;
    this.#findings.push(id === undefined ? { line, code, message } : { line, id, code, message });
  }

  /** In the order of the lines; where there were too many, the last one says how many more. */
  list(): readonly Finding[] {
    const findings = this.#findings.toSorted((a, b) => a.line - b.line);
    const more = this.#count - findings.length;
    if (more > 0) findings.push({ line: this.#last, code: "more-findings", message: `and ${more} more` });
    return findings;
  }
}
