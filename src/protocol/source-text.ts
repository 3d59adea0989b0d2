/** The lines of a text, to tell people where an offset is. Lines and columns count from 1. */
export class Lines {
  readonly #starts: number[] = [0];

  constructor(text: string) {
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
  }

  at(offset: number): { line: number; column: number } {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] as number) + 1 };
  }
}

export type Decoded =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly line: number; readonly column: number; readonly message: string };

export function decodeText(source: string | Uint8Array): Decoded {
  const text = typeof source === "string" ? source.replace(/^\uFEFF/, "") : decodeUtf8(source);
  if (text === undefined) {
    const line = firstLineNotUtf8(source as Uint8Array);
    return {
      ok: false,
      line,
      column: 1,
      message: "not a text file: it is not valid UTF-8; save it as UTF-8",
    };
  }
  const nul = text.indexOf("\0");
  if (nul === -1) return { ok: true, text };
  const message = "not a text file: it contains NUL bytes; it must be YAML or JSON in UTF-8";
  return { ok: false, ...new Lines(text).at(nul), message };
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A line feed is never part of another character, so lines can be judged one by one. */
function firstLineNotUtf8(bytes: Uint8Array): number {
  let line = 1;
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    if (decodeUtf8(bytes.subarray(start, end)) === undefined) return line;
    line += 1;
    start = end + 1;
  }
  return line;
}
