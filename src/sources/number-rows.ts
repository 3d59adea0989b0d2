import { shown } from "../protocol/index.ts";
import type { Problems } from "./result.ts";

/** A line of a file that consists of whole numbers. */
export interface NumberRow {
  readonly line: number;
  readonly numbers: readonly number[];
}

const MAX_ROWS = 1_000_000;
/** Beyond what any graph in such a file has, and far below what fills the memory. */
const MAX_NUMBERS = 10_000_000;
const MAX_DIGITS = 15;

/** Calls with the lines of a text, one after the other and none kept, until told to stop. */
export function eachLine(text: string, visit: (line: string, number: number) => boolean): void {
  let start = 0;
  for (let number = 1; start <= text.length; number++) {
    const next = text.indexOf("\n", start);
    const end = next === -1 ? text.length : next;
    if (!visit(text.slice(start, end), number)) return;
    start = end + 1;
  }
}

/** Reads rows of numbers, as many as there may be in a file. */
export class NumberRows {
  readonly #problems: Problems;
  #rows = 0;
  #numbers = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** The numbers of a line, or nothing and a problem. Read by hand: a line may be as long as the file. */
  read(text: string, line: number): NumberRow | undefined {
    const numbers: number[] = [];
    let at = skipBlank(text, 0);
    while (at < text.length) {
      const end = endOfDigits(text, at);
      const next = skipBlank(text, end);
      const isWord = next > end || end === text.length;
      if (end === at || end - at > MAX_DIGITS || !isWord) return this.#refuse(text, at, line);
      numbers.push(Number(text.slice(at, end)));
      if (this.#numbers + numbers.length > MAX_NUMBERS) return this.#refuseMore(line);
      at = next;
    }
    this.#rows += 1;
    this.#numbers += numbers.length;
    if (this.#rows > MAX_ROWS * 2) return this.#refuseMore(line);
    return { line, numbers };
  }

  #refuse(text: string, start: number, line: number): undefined {
    const word = text.slice(start, start + 64).split(/\s/, 1)[0];
    this.#problems.add(line, `expected whole numbers from 0 on, not ${shown(word)}`);
  }

  #refuseMore(line: number): undefined {
    this.#problems.add(line, `the file is too large: more than ${MAX_ROWS} nodes or ${MAX_NUMBERS} numbers`);
    this.#problems.stop();
  }
}

function skipBlank(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= 32) at += 1;
  return at;
}

function endOfDigits(text: string, start: number): number {
  let at = start;
  for (let unit = text.charCodeAt(at); unit >= 48 && unit <= 57; unit = text.charCodeAt(at)) at += 1;
  return at;
}
