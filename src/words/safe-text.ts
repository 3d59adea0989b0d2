/** Control characters, and the marks that change the direction of text and can make it read as something else. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Show what would act on the terminal: ids and output come from outside, and could rewrite the screen. */
export function neutralise(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const hex = character.charCodeAt(0).toString(16);
    return hex.length <= 2 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`;
  });
}
