import { StringDecoder } from "node:string_decoder";
import type { LogEntry } from "../protocol/index.ts";
import type { AttemptName } from "./transport.ts";

const MAX_ENTRY_CHARS = 16_384;

/** What one attempt may write to its log: all of it up to a limit, then one line that says it was cut. */
export class AttemptLog {
  readonly #name: AttemptName;
  readonly #limitBytes: number;
  readonly #emit: (entry: LogEntry) => void;
  #bytes = 0;
  #isCut = false;

  constructor(name: AttemptName, limitBytes: number, emit: (entry: LogEntry) => void) {
    this.#name = name;
    this.#limitBytes = limitBytes;
    this.#emit = emit;
  }

  /** One or more lines; the newline at the end is left out. */
  add(stream: LogEntry["stream"], text: string): void {
    if (this.#isCut) return;
    const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).toWellFormed();
    const bytes = Buffer.from(lines);
    const room = this.#limitBytes - this.#bytes;
    this.#isCut = bytes.length > room;
    this.#bytes += bytes.length;
    // A decoder holds back the bytes of a character that the cut went through.
    const kept = this.#isCut ? new StringDecoder("utf8").write(bytes.subarray(0, room)) : lines;
    if (kept !== "" || !this.#isCut) for (const piece of pieces(kept)) this.#entry(stream, piece);
    if (this.#isCut) this.#entry("log", `The log ends here: it is longer than ${this.#limitBytes} bytes.`);
  }

  #entry(stream: LogEntry["stream"], text: string): void {
    this.#emit({ task: this.#name.task, attempt: this.#name.attempt, at: Date.now(), stream, text });
  }
}

/** An empty text is an empty line. */
function pieces(text: string): string[] {
  if (text.length <= MAX_ENTRY_CHARS) return [text];
  const all: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start);
    all.push(text.slice(start, end));
    start = text[end] === "\n" ? end + 1 : end;
  }
  return all;
}

/** After a line where there is one to end at, and never within a character. */
function endOfPiece(text: string, start: number): number {
  const limit = start + MAX_ENTRY_CHARS;
  if (limit >= text.length) return text.length;
  const newline = text.lastIndexOf("\n", limit);
  if (newline > start) return newline;
  const code = text.charCodeAt(limit - 1);
  return code >= 0xd800 && code < 0xdc00 ? limit - 1 : limit;
}
