import { type Faults, MAX_DEPTH, type ParsedText, type Path, type Visit } from "./faults.ts";
import {
  CLOSE_LIST,
  CLOSE_MAP,
  endOfString,
  endOfWord,
  OPEN_LIST,
  OPEN_MAP,
  QUOTE,
  skipBetween,
} from "./json-tokens.ts";
import { losesDigits } from "./rounded-integer.ts";
import type { Lines } from "./source-text.ts";

/** The value of a text that is JSON. One that begins with a brace may still be YAML in flow style. */
export function jsonValue(text: string, isNamedJson: boolean): { readonly value: unknown } | undefined {
  if (!isNamedJson && !/^\s*\{/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/**
 * Completes what `JSON.parse` made of a text: that keeps the last of two equal keys without a word, and
 * puts keys such as "10" before all others. (YAML's parser reads JSON as well, in some fifty times the time.)
 */
export function parsedJson(
  text: string,
  value: unknown,
  lines: Lines,
  faults: Faults,
  entry: Visit,
): ParsedText | undefined {
  let deepAt: number | undefined;
  walkJson(text, {
    entry,
    again: (path, offset, first) => faults.duplicateKey([...path], offset, lines.at(first).line),
    rounded: (path, offset, word) => faults.roundedNumber([...path], offset, word),
    tooDeep: (offset) => {
      deepAt = offset;
    },
  });
  if (deepAt === undefined) return { value, walk: (visit) => walkJson(text, { entry: visit }) };
  faults.tooDeep(deepAt);
  return undefined;
}

interface Visitor {
  readonly entry: Visit;
  /** A key that its map has already. */
  readonly again?: (path: Path, offset: number, first: number) => void;
  /** A number that is read as another one. */
  readonly rounded?: (path: Path, offset: number, word: string) => void;
  /** The walk ends there. */
  readonly tooDeep?: (offset: number) => void;
}

/** An open map with the offsets of its keys, or an open list with the number of its items so far. */
type Open = { readonly keys: Map<string, number> } | { readonly keys: undefined; items: number };

/** Goes through a text that is known to be JSON, so that nothing needs checking. */
function walkJson(text: string, visitor: Visitor): void {
  const path: (string | number)[] = [];
  const open: Open[] = [];
  let at = skipBetween(text, 0);
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === CLOSE_MAP || unit === CLOSE_LIST) {
      open.pop();
      path.pop();
      at = skipBetween(text, at + 1);
      continue;
    }
    const top = open.at(-1);
    const keyAt = at;
    if (top?.keys) {
      at = endOfString(text, at);
      const key = keyText(text, keyAt, at);
      path.push(key);
      if (visitor.again) {
        const first = top.keys.get(key);
        if (first === undefined) top.keys.set(key, keyAt);
        else visitor.again(path, keyAt, first);
      }
      at = skipBetween(text, at);
    } else if (top) path.push(top.items++);
    if (top) visitor.entry(path, keyAt, at);

    const first = text.charCodeAt(at);
    if (first === OPEN_MAP || first === OPEN_LIST) {
      open.push(first === OPEN_MAP ? { keys: new Map() } : { keys: undefined, items: 0 });
      if (open.length > MAX_DEPTH) {
        visitor.tooDeep?.(at);
        return;
      }
      at += 1;
    } else {
      const end = first === QUOTE ? endOfString(text, at) : endOfWord(text, at);
      if (visitor.rounded && first !== QUOTE) {
        const word = text.slice(at, end);
        if (losesDigits(word)) visitor.rounded(path, at, word);
      }
      at = end;
      path.pop();
    }
    at = skipBetween(text, at);
  }
}

function keyText(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : raw;
}
