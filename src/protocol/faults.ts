import type { Lines } from "./source-text.ts";
import { shortened } from "./units.ts";

/** Something wrong with a file. `message` names the field, what is wrong with it and how to mend it. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  /** Such as `nodes.fetch.timeout`; empty where the file as a whole is meant. */
  readonly path: string;
  readonly message: string;
}

/** The keys and list indexes that lead to a value. */
export type Path = readonly (string | number)[];

/** Called for an entry of a map or list. The path is reused for the next call: copy what you keep. */
export type Visit = (path: Path, keyOffset: number, valueOffset: number) => void;

/**
 * A file as plain values. Where they stand in the text is only found by walking it once more, because
 * most files have no problem and a large one would need as much memory again for offsets that nobody reads.
 */
export interface ParsedText {
  readonly value: unknown;
  /** Visits the entries of all maps and lists in the order of the file. */
  readonly walk: (visit: Visit) => void;
}

interface Fault {
  readonly path: Path;
  /** Undefined: to be found from the path. */
  readonly offset: number | undefined;
  readonly onKey: boolean;
  readonly message: string;
}

/** Far more than a graph needs, and far less than what exhausts the stack of those who walk the values. */
export const MAX_DEPTH = 100;

const MAX_KEPT = 10_000;
const MAX_SHOWN = 50;
/** Looking for what was meant takes time, and who misspelt more than this knows by then. */
const MAX_GUESSED = 20;

/** Thrown when there are as many faults as anyone wants to hear of: reading on would be for nothing. */
export class EnoughFaults extends Error {
  override readonly name = "EnoughFaults";
}

/** What is wrong with a file, collected so that all of it can be told at once. */
export class Faults {
  #count = 0;
  readonly #kept: Fault[] = [];
  readonly #enough: number;

  /** With `enough`, that many faults end the reading. */
  constructor(enough: number = Number.POSITIVE_INFINITY) {
    this.#enough = enough;
  }

  get count(): number {
    return this.#count;
  }

  /** Further faults are only counted, so their messages need no care. */
  get isFull(): boolean {
    return this.#kept.length === MAX_KEPT;
  }

  /** Whether a message should say what may have been meant. */
  get mayGuess(): boolean {
    return this.#count < MAX_GUESSED;
  }

  atValue(path: Path, message: string): void {
    this.#add({ path, offset: undefined, onKey: false, message });
  }

  atKey(path: Path, message: string): void {
    this.#add({ path, offset: undefined, onKey: true, message });
  }

  atOffset(offset: number, path: Path, message: string): void {
    this.#add({ path, offset, onKey: false, message });
  }

  duplicateKey(path: Path, offset: number, firstLine: number): void {
    const key = path.at(-1);
    if (path.length === 2 && path[0] === "nodes")
      this.atOffset(offset, path, duplicateId(String(key), firstLine));
    else
      this.atOffset(
        offset,
        path,
        `key "${shortened(String(key))}" is given twice, first on line ${firstLine}; remove one`,
      );
  }

  roundedNumber(path: Path, offset: number, word: string): void {
    const problem = `${shortened(word)} has more digits than a number can; put it in quotes`;
    this.atOffset(offset, path, problem);
  }

  tooDeep(offset: number): void {
    this.atOffset(offset, [], `maps and lists are nested more than ${MAX_DEPTH} deep; flatten them`);
  }

  #add(fault: Fault): void {
    this.#count += 1;
    if (!this.isFull) this.#kept.push(fault);
    if (this.#count >= this.#enough) throw new EnoughFaults();
  }

  /** All problems in the order of the file, or the first ones and how many more there are. */
  problems(lines: Lines, parsed: ParsedText | undefined): Problem[] {
    const offsetOf = locate(this.#kept, parsed);
    const problems = this.#kept
      .map((fault) => ({ fault, offset: fault.offset ?? offsetOf(fault) }))
      .sort((a, b) => a.offset - b.offset)
      .slice(0, MAX_SHOWN + 1)
      .map(({ fault, offset }) => ({
        ...lines.at(offset),
        path: pathText(fault.path),
        message: fault.message,
      }));
    const [next] = problems.splice(MAX_SHOWN);
    const atLeast = this.#count < this.#enough ? "" : "at least ";
    if (next) problems.push({ ...next, path: "", message: `and ${atLeast}${this.#count - MAX_SHOWN} more` });
    return problems;
  }
}

export function duplicateId(id: string, firstLine: number): string {
  return `node id ${JSON.stringify(shortened(id))} is used twice, first on line ${firstLine}; rename one of the two`;
}

/**
 * Finds the offsets of faults in one walk over the file. A path that is not in the text, because an alias
 * or a merge brought it there, is found at the nearest entry that holds it.
 */
function locate(faults: readonly Fault[], parsed: ParsedText | undefined): (fault: Fault) => number {
  const wanted = new Set<string>();
  const wantedSeconds = new Set<string | number | undefined>();
  for (const { path } of faults.filter((fault) => fault.offset === undefined)) {
    for (let length = path.length; length > 0; length--) wanted.add(keyOf(path, length));
    wantedSeconds.add(path[1]);
  }
  const found = new Map<string, { key: number; value: number }>();
  if (wanted.size > 0) {
    parsed?.walk((path, key, value) => {
      if (path.length > 1 && !wantedSeconds.has(path[1])) return;
      const text = keyOf(path, path.length);
      if (wanted.has(text) && !found.has(text)) found.set(text, { key, value });
    });
  }
  return ({ path, onKey }) => {
    for (let length = path.length; length > 0; length--) {
      const entry = found.get(keyOf(path, length));
      if (entry) return onKey && length === path.length ? entry.key : entry.value;
    }
    return 0;
  };
}

function keyOf(path: Path, length: number): string {
  return (length === path.length ? path : path.slice(0, length)).join("\0");
}

function pathText(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      if (!/^[\p{L}\p{N}_-]+$/u.test(step)) return `[${JSON.stringify(shortened(step))}]`;
      return index === 0 ? shortened(step) : `.${shortened(step)}`;
    })
    .join("");
}
