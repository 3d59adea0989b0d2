import { invariant } from "../../core/index.ts";
import { Findings } from "../findings.ts";
import { editLine, type IssueChange } from "./edit-line.ts";
import { readRecords } from "./records.ts";

interface Line {
  readonly start: number;
  readonly end: number;
}

/**
 * A file of issues that can be changed and written back. Every line that was not changed stays as it is, byte for
 * byte: its fields that nobody here knows, its line end, and also what is no issue at all.
 */
export class BeadsFile {
  readonly #bytes: Buffer;
  /** The line that counts for each issue, which is the last. */
  readonly #lines: ReadonlyMap<string, Line>;
  /** What stands there instead. */
  readonly #edits: ReadonlyMap<Line, Buffer>;

  private constructor(bytes: Buffer, lines: ReadonlyMap<string, Line>, edits: ReadonlyMap<Line, Buffer>) {
    this.#bytes = bytes;
    this.#lines = lines;
    this.#edits = edits;
  }

  static read(bytes: Uint8Array): BeadsFile {
    const lines = new Map<string, Line>();
    for (const { id, start, end } of readRecords(bytes, new Findings())) lines.set(id, { start, end });
    return new BeadsFile(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), lines, new Map());
  }

  /** The file with fields of one issue set, or nothing where it has no such issue. */
  with(id: string, change: IssueChange): BeadsFile | undefined {
    const line = this.#lines.get(id);
    if (!line) return undefined;
    invariant(!Object.hasOwn(change.fields ?? {}, "id"), "an issue keeps its id");
    const bytes = this.#edits.get(line) ?? this.#bytes.subarray(line.start, line.end);
    const edited = Buffer.from(editLine(bytes.toString("latin1"), change), "latin1");
    return new BeadsFile(this.#bytes, this.#lines, new Map(this.#edits).set(line, edited));
  }

  toBytes(): Uint8Array {
    const parts: Uint8Array[] = [];
    let from = 0;
    for (const [{ start, end }, edited] of [...this.#edits].sort(([a], [b]) => a.start - b.start)) {
      parts.push(this.#bytes.subarray(from, start), edited);
      from = end;
    }
    return Buffer.concat([...parts, this.#bytes.subarray(from)]);
  }
}
