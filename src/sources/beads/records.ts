import { isUtf8 } from "node:buffer";
import { shown } from "../../protocol/index.ts";
import type { Findings } from "../findings.ts";
import { type Mapping, nameOf } from "../json-values.ts";

/** A line that holds an issue. */
export interface BeadsRecord {
  readonly id: string;
  readonly map: Mapping;
  readonly line: number;
  /** Where its text begins and ends in the file, without the end of the line. */
  readonly start: number;
  readonly end: number;
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** An issue with all its comments is far shorter; what is longer is another file. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** A file with more is none of Beads, and finding out why each line is broken takes its time. */
const MAX_BROKEN_LINES = 10_000;

/** The issues of a file of JSON lines, in its order. What is none is reported and passed over. */
export function* readRecords(bytes: Uint8Array, findings: Findings): Generator<BeadsRecord> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const reader = new RecordReader(buffer, findings);
  let start = reader.skipMark();
  for (let line = 1; start < buffer.length && !reader.isOver; line++) {
    const next = buffer.indexOf(LINE_FEED, start);
    const end = next === -1 ? buffer.length : next;
    const record = reader.read(line, start, end);
    if (record) yield record;
    start = end + 1;
  }
}

class RecordReader {
  readonly #buffer: Buffer;
  readonly #findings: Findings;
  readonly #isWellFormed: boolean;
  #hasCarriageReturns = false;
  #broken = 0;

  constructor(buffer: Buffer, findings: Findings) {
    this.#buffer = buffer;
    this.#findings = findings;
    this.#isWellFormed = isUtf8(buffer);
  }

  get isOver(): boolean {
    return this.#broken > MAX_BROKEN_LINES;
  }

  skipMark(): number {
    if (!BYTE_ORDER_MARK.every((byte, index) => this.#buffer[index] === byte)) return 0;
    this.#findings.add(1, "byte-order-mark", "the file begins with a byte order mark; it is passed over");
    return BYTE_ORDER_MARK.length;
  }

  read(line: number, start: number, lineEnd: number): BeadsRecord | undefined {
    const end = this.#withoutCarriageReturn(line, start, lineEnd);
    if (end === start) return undefined;
    if (end - start > MAX_LINE_BYTES) {
      const size = `the line has ${end - start} bytes, more than ${MAX_LINE_BYTES}`;
      return this.#passOver(line, "huge-line", `${size}; it is passed over`);
    }
    if (!this.#isWellFormed && !isUtf8(this.#buffer.subarray(start, end))) {
      const message = "the line is not valid UTF-8; what is wrong in it is read as U+FFFD";
      this.#findings.add(line, "not-utf8", message);
    }
    const text = this.#buffer.toString("utf8", start, end).trim();
    const map = text === "" ? undefined : this.#object(text, line);
    if (!map) return undefined;
    const id = this.#idOf(map, line);
    return id === undefined ? undefined : { id, map, line, start, end };
  }

  #withoutCarriageReturn(line: number, start: number, end: number): number {
    if (end === start || this.#buffer[end - 1] !== CARRIAGE_RETURN) return end;
    if (!this.#hasCarriageReturns) this.#findings.add(line, "crlf", "lines end with CR LF from here on");
    this.#hasCarriageReturns = true;
    return end - 1;
  }

  #object(text: string, line: number): Mapping | undefined {
    if (!text.startsWith("{"))
      return this.#passOver(line, "not-an-object", "the line is no JSON object; it is passed over");
    try {
      return JSON.parse(text) as Mapping;
    } catch {
      return this.#passOver(line, "broken-json", "the line is not valid JSON; it is passed over");
    }
  }

  #idOf(map: Mapping, line: number): string | undefined {
    const kind = map["_type"] ?? "issue";
    // An export may hold the memories of those who work there.
    if (kind === "memory") return undefined;
    if (kind !== "issue")
      return this.#passOver(line, "unknown-record", `_type ${shown(kind)} is not known; it is passed over`);
    return nameOf(map["id"]) ?? this.#passOver(line, "missing-id", "the issue has no id; it is passed over");
  }

  #passOver(line: number, code: string, message: string): undefined {
    this.#findings.add(line, code, message);
    this.#broken += 1;
    if (!this.isOver) return;
    const more = `more than ${MAX_BROKEN_LINES} lines are no issues; nothing is read beyond this one`;
    this.#findings.add(line, "gave-up", more);
  }
}
