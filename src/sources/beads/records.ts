import { isUtf8 } from "node:buffer";
import { shown } from "../../protocol/index.ts";
import type { Findings } from "../findings.ts";
import { isMapping, type Mapping, nameOf } from "../json-values.ts";

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

/** The issues of a file of JSON lines, in its order. What is none is reported and passed over. */
export function* readRecords(bytes: Uint8Array, findings: Findings): Generator<BeadsRecord> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const isWellFormed = isUtf8(buffer);
  let hasCarriageReturns = false;
  let start = BYTE_ORDER_MARK.every((byte, index) => buffer[index] === byte) ? BYTE_ORDER_MARK.length : 0;
  if (start > 0)
    findings.add(1, "byte-order-mark", "the file begins with a byte order mark; it is passed over");
  for (let line = 1; start < buffer.length; line++) {
    const next = buffer.indexOf(LINE_FEED, start);
    let end = next === -1 ? buffer.length : next;
    const following = end + 1;
    if (buffer[end - 1] === CARRIAGE_RETURN && end > start) {
      end -= 1;
      if (!hasCarriageReturns) findings.add(line, "crlf", "lines end with CR LF from here on");
      hasCarriageReturns = true;
    }
    const span = { line, start, end };
    if (!isWellFormed && !isUtf8(buffer.subarray(start, end)))
      findings.add(line, "not-utf8", "the line is not valid UTF-8; what is wrong in it is read as U+FFFD");
    const record = end > start ? readRecord(buffer, span, findings) : undefined;
    if (record) yield record;
    start = following;
  }
}

type Span = Pick<BeadsRecord, "line" | "start" | "end">;

function readRecord(buffer: Buffer, span: Span, findings: Findings): BeadsRecord | undefined {
  const { line, start, end } = span;
  if (end - start > MAX_LINE_BYTES) {
    const message = `the line has ${end - start} bytes, more than ${MAX_LINE_BYTES}; it is passed over`;
    findings.add(line, "huge-line", message);
    return undefined;
  }
  const text = buffer.toString("utf8", start, end);
  const value = parse(text);
  if (!isMapping(value)) {
    if (value !== undefined) findings.add(line, "not-an-object", "the line is JSON, but no object");
    else if (text.trim() !== "") findings.add(line, "broken-json", "the line is not valid JSON");
    return undefined;
  }
  const kind = value["_type"] ?? "issue";
  if (kind !== "issue") {
    // An export may hold the memories of those who work there.
    if (kind !== "memory")
      findings.add(line, "unknown-record", `_type ${shown(kind)} is not known; it is passed over`);
    return undefined;
  }
  const id = nameOf(value["id"]);
  if (id === undefined) findings.add(line, "missing-id", "the issue has no id; it is passed over");
  return id === undefined ? undefined : { id, map: value, ...span };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
