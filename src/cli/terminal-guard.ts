/**
 * Guards the terminal against text from elsewhere: names, logs and ledgers can hold characters that move the cursor, rename the
 * window, or make text read as something else.
 *
 * Commands make such characters visible where they print foreign text. This guard does it once more for everything that the
 * process writes, so that no command can forget it. Characters become `\u009b`, which is the same data in JSON.
 */

/** Escape sequences that begin with `ESC [` pass: they are Orrery's own colours and cursor moves. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the guard looks for
  /(?![\t\n\r]|\u001b\[[?\d;]*[A-Za-z])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

type Write = NodeJS.WriteStream["write"];

/** Replaces the stream's `write` by one that makes unsafe characters visible. */
export function guardTerminal(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  const guarded = (chunk: string | Uint8Array, ...rest: unknown[]): boolean =>
    write(safeChunk(chunk, stream.isTTY), ...rest);
  stream.write = guarded as Write;
}

/** Bytes are a result or what a thread printed. A file or pipe gets them as they are; a terminal does not. */
function safeChunk(chunk: string | Uint8Array, isTerminal: boolean): string | Uint8Array {
  if (typeof chunk === "string") return escaped(chunk);
  if (!isTerminal) return chunk;
  const text = Buffer.from(chunk).toString("utf8");
  const safe = escaped(text);
  return safe === text ? chunk : safe;
}

function escaped(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
