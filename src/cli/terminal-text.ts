/** Text as a terminal shows it: safe to print, and measured in columns. */

export { neutralise } from "../words/index.ts";

const NARROW_TEXT = /^[ -~]*$/;
const ZERO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
// The blocks that are wide throughout (East Asian Width W and F), and what is an emoji by default.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what a colour begins with
const COLOR = /(\u001b\[\d+m)/;
const EMOJI_SELECTOR = "\ufe0f";

/**
 * How many columns a text without escape sequences takes. Joined emoji count as their parts: terminals disagree,
 * and a line that is a little short does no harm while one that wraps does.
 */
export function textWidth(text: string): number {
  if (NARROW_TEXT.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Cut to at most `width` columns. */
export function fitText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let fitted = "";
  let room = width - 1;
  if (room < 0) return "";
  for (const character of text) {
    room -= characterWidth(character);
    if (room < 0) break;
    fitted += character;
  }
  return `${fitted}…`;
}

/** The same for a text with colours. They take no columns, and all are kept, so that none goes on behind it. */
export function fitColored(text: string, width: number): string {
  let room = width;
  return text
    .split(COLOR)
    .map((part, at) => {
      if (at % 2 === 1) return part;
      const fitted = fitText(part, room);
      room = fitted === part ? room - textWidth(part) : 0;
      return fitted;
    })
    .join("");
}

/** Cut or fill to exactly `width` columns. */
export function padText(text: string, width: number): string {
  const fitted = fitText(text, width);
  return fitted + " ".repeat(Math.max(0, width - textWidth(fitted)));
}

function characterWidth(character: string): number {
  if (character === EMOJI_SELECTOR) return 1;
  if (ZERO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** NO_COLOR and FORCE_COLOR as they are understood elsewhere; otherwise a terminal gets colours. */
export function wantsColor(stream: { readonly isTTY?: boolean }): boolean {
  const { NO_COLOR: none, FORCE_COLOR: forced, TERM: term } = process.env;
  if (none) return false;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return stream.isTTY === true && term !== "dumb";
}
