import { EnoughFaults, Faults, type ParsedText, type Path, type Problem, type Visit } from "./faults.ts";
import { findJsonError } from "./json-syntax.ts";
import { jsonValue, parsedJson } from "./json-text.ts";
import { decodeText, Lines } from "./source-text.ts";
import { shown } from "./units.ts";
import { parseYaml } from "./yaml-text.ts";

export type DocumentResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Who makes something of the values in a file. */
export interface DocumentReader<Value> {
  /** Where a number or boolean stays as it is written. */
  readonly keepsText: (path: Path) => boolean;
  /** Sees the entries of all maps and lists while the file is parsed. */
  readonly visit: Visit;
  /** Asked of JSON before anything goes through it, however long it is. */
  readonly refuses?: (root: unknown, faults: Faults) => boolean;
  /** Tells `faults` everything that is wrong; then what it returns is of no interest. An empty file is null. */
  readonly read: (root: unknown, faults: Faults) => Value | undefined;
}

/** Reads a file of YAML or JSON, or says everything that is wrong with it. */
export function readDocument<Value>(
  source: string | Uint8Array,
  fileName: string,
  readerOf: (lines: Lines) => DocumentReader<Value>,
  maxProblems?: number,
): DocumentResult<Value> {
  const decoded = decodeText(source);
  if (!decoded.ok) {
    const { line, column, message } = decoded;
    return { ok: false, problems: [{ line, column, path: "", message }] };
  }
  const lines = new Lines(decoded.text);
  const faults = new Faults(maxProblems);
  const reader = readerOf(lines);
  let parsed: ParsedText | undefined;
  try {
    parsed = parse(decoded.text, fileName, lines, faults, reader);
    const value = parsed && reader.read(parsed.value, faults);
    if (value !== undefined && faults.count === 0) return { ok: true, value };
  } catch (error) {
    if (!(error instanceof EnoughFaults)) throw error;
  }
  return { ok: false, problems: faults.problems(lines, parsed) };
}

function parse(
  text: string,
  fileName: string,
  lines: Lines,
  faults: Faults,
  { keepsText, visit, refuses }: DocumentReader<unknown>,
): ParsedText | undefined {
  if (text.trim() === "") return { value: null, walk: () => {} };
  const isNamedJson = fileName.toLowerCase().endsWith(".json");
  const json = jsonValue(text, isNamedJson);
  if (json && refuses?.(json.value, faults)) return undefined;
  if (json) return parsedJson(text, json.value, lines, faults, visit);
  const error = isNamedJson ? findJsonError(text) : undefined;
  if (error === undefined) return parseYaml(text, lines, faults, keepsText, visit);
  const found = text.slice(error.offset, error.offset + 1);
  const got = found === "" ? "the file ends" : `there is ${shown(found)}`;
  faults.atOffset(error.offset, [], `not valid JSON: expected ${error.expected} where ${got}`);
  return undefined;
}
