// Where the parts of a JSON text stand. The text is known to be JSON, so nothing is checked; it is walked without
// recursion, because it may be as deep as it is long.

import {
  CLOSE_LIST,
  CLOSE_MAP,
  endOfString,
  endOfWord,
  OPEN_LIST,
  OPEN_MAP,
  QUOTE,
  skipBetween,
} from "../protocol/index.ts";

export interface Member {
  readonly keyAt: number;
  readonly keyEnd: number;
  readonly valueAt: number;
  readonly end: number;
}

/** The members of the map that begins at an offset. */
export function* members(text: string, at: number): Generator<Member> {
  let next = skipBetween(text, at + 1);
  while (text.charCodeAt(next) !== CLOSE_MAP) {
    const keyEnd = endOfString(text, next);
    const valueAt = skipBetween(text, keyEnd);
    const end = endOfValue(text, valueAt);
    yield { keyAt: next, keyEnd, valueAt, end };
    next = skipBetween(text, end);
  }
}

/** The offsets of the items of the list that begins at an offset. */
export function* items(text: string, at: number): Generator<number> {
  let next = skipBetween(text, at + 1);
  while (text.charCodeAt(next) !== CLOSE_LIST) {
    yield next;
    next = skipBetween(text, endOfValue(text, next));
  }
}

/**
 * Where a text that may be JSON, or nearly so, has more lists and maps in one another than that. A parser holds memory
 * for each of them, far more than the text takes.
 */
export function findTooDeep(text: string, maxDepth: number): number | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text, at) - 1;
      if (at < 0) return undefined;
    } else if (unit === OPEN_MAP || unit === OPEN_LIST) {
      depth += 1;
      if (depth > maxDepth) return at;
    } else if (unit === CLOSE_MAP || unit === CLOSE_LIST) depth -= 1;
  }
  return undefined;
}

/** The offset of the first character that is no blank. */
export function startOfValue(text: string): number {
  return skipBetween(text, 0);
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    else if (unit === OPEN_MAP || unit === OPEN_LIST) {
      depth += 1;
      at += 1;
    } else if (unit === CLOSE_MAP || unit === CLOSE_LIST) {
      depth -= 1;
      at += 1;
    } else at = endOfWord(text, at);
    if (depth > 0) at = skipBetween(text, at);
  } while (depth > 0);
  return at;
}
