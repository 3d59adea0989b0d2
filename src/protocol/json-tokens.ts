// The words of a JSON text, for those who walk it. What is known to be JSON is not checked.

export const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
export const OPEN_LIST = 91;
export const CLOSE_LIST = 93;
export const OPEN_MAP = 123;
export const CLOSE_MAP = 125;

/** 0 where it does not end. */
export function endOfString(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return 0;
    let slash = at;
    while (text[slash - 1] === "\\") slash -= 1;
    if ((at - slash) % 2 === 0) return at + 1;
  }
}

export function endOfWord(text: string, start: number): number {
  let at = start;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (!(unit > 32) || unit === COMMA || unit === CLOSE_MAP || unit === CLOSE_LIST) return at;
    at += 1;
  }
}

/** Over blanks, commas and colons. */
export function skipBetween(text: string, start: number): number {
  let at = start;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (!(unit <= 32 || unit === COMMA || unit === COLON)) return at;
    at += 1;
  }
}
