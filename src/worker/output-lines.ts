import { StringDecoder } from "node:string_decoder";

/** What is kept of one line, in bytes. A command that never ends its line must not fill the memory or the log. */
export const MAX_LINE_BYTES: number = 8 * 1024;

const NEWLINE = 0x0a;

export interface OutputLines {
  push(chunk: Buffer): void;
  /** Hand over what stands after the last newline. */
  end(): void;
}

/**
 * Turn chunks of bytes into text of whole lines, each with its newline, as many at once as a chunk completes.
 *
 * Lines are cut as bytes and decoded afterwards: a newline is never part of another UTF-8 sequence, so a
 * character that crosses two chunks stays whole without a decoder between them.
 */
export function outputLines(emit: (text: string) => void): OutputLines {
  let pieces: Buffer[] = [];
  let keptBytes = 0;
  let cut = false;

  const keep = (piece: Buffer): void => {
    const room = MAX_LINE_BYTES - keptBytes;
    if (piece.length > room) cut = true;
    const kept = piece.subarray(0, room);
    if (kept.length > 0) pieces.push(kept);
    keptBytes += kept.length;
  };

  const takeLine = (): string => {
    const bytes = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
    const text = cut ? `${withoutBrokenEnd(bytes)}…` : bytes.toString("utf8");
    pieces = [];
    keptBytes = 0;
    cut = false;
    return text;
  };

  return {
    push(chunk) {
      let text = "";
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        keep(chunk.subarray(start, end));
        text += `${takeLine()}\n`;
        start = end + 1;
      }
      keep(chunk.subarray(start));
      if (text !== "") emit(text);
    },
    end() {
      if (keptBytes > 0) emit(takeLine());
    },
  };
}

/** A decoder holds back the bytes of an unfinished character, which is the one that the cut went through. */
function withoutBrokenEnd(bytes: Buffer): string {
  return new StringDecoder("utf8").write(bytes);
}
