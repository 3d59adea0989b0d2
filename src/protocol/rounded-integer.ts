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

/** Fewer are never too many. */
const SAFE_DIGITS = 16;
const BRACKETS: readonly number[] = [OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP];

/** The first whole number of a JSON text that comes back as another one once it was read; undefined: there is none. */
export function roundedInteger(text: string): string | undefined {
  let at = skipBetween(text, text.startsWith("\uFEFF") ? 1 : 0);
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    else if (BRACKETS.includes(unit)) at += 1;
    else {
      const word = text.slice(at, endOfWord(text, at));
      if (losesDigits(word)) return word;
      at += word.length;
    }
    at = skipBetween(text, at);
  }
  return undefined;
}

/** Whether a word is a whole number that is read as another one. */
export function losesDigits(word: string): boolean {
  return (
    word.length >= SAFE_DIGITS && /^[-+]?\d+$/.test(word) && inDigits(Number(word)) !== word.replace("+", "")
  );
}

/** A whole number as JSON would say it, but with all zeros: 1e+21 is what becomes of a one with 21 of them. */
function inDigits(value: number): string {
  const [mantissa = "", exponent] = String(value).split("e+");
  if (exponent === undefined) return mantissa;
  const [whole = "", fraction = ""] = mantissa.split(".");
  return whole + fraction.padEnd(Number(exponent), "0");
}
