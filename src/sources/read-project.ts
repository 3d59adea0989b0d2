import { readBeads } from "./beads/read-beads.ts";
import { readGraph } from "./graph-file.ts";
import { findTooDeep } from "./json-spans.ts";
import { isMapping } from "./json-values.ts";
import { readPsplib } from "./psplib.ts";
import { type ReadOptions, type ReadResult, refusal } from "./result.ts";
import { readStg } from "./stg.ts";
import { readWfFormat } from "./wf-format.ts";

/** What a plan can be made for, as people know it. */
const KNOWN =
  "a graph file (.yaml, .json), issues of Beads (.jsonl), PSPLIB (.sm), STG (.stg) and WfFormat (.json)";

const UNKNOWN = refusal(1, `this is no file that a plan can be made for; known are ${KNOWN}`);

const MAX_BYTES = 256 * 1024 * 1024;
const MAX_DEPTH = 1_000;
/** Enough for the head of any format. */
const HEAD_BYTES = 64 * 1024;

type Format = "beads" | "graph" | "psplib" | "stg" | "json";

/** Reads a file of any known format, recognised by how it is named and by what it says. */
export function readProject(bytes: Uint8Array, fileName: string, options: ReadOptions): ReadResult {
  if (bytes.length > MAX_BYTES)
    return refusal(1, `the file has ${bytes.length} bytes; at most ${MAX_BYTES} can be read`);
  switch (formatByName(fileName) ?? formatByContent(bytes)) {
    case "beads":
      return readBeads(bytes, fileName, options);
    case "graph":
      return readGraph(bytes, fileName);
    case "psplib":
      return readPsplib(new TextDecoder().decode(bytes), fileName);
    case "stg":
      return readStg(new TextDecoder().decode(bytes), fileName);
    case "json":
      return readJson(bytes, fileName, options);
    case undefined:
      return UNKNOWN;
  }
}

const FORMAT_OF_ENDING: ReadonlyMap<string, Format> = new Map([
  ["sm", "psplib"],
  ["mm", "psplib"],
  ["stg", "stg"],
  ["yaml", "graph"],
  ["yml", "graph"],
  ["json", "json"],
  ["jsonl", "beads"],
  ["ndjson", "beads"],
]);

function formatByName(fileName: string): Format | undefined {
  return FORMAT_OF_ENDING.get(fileName.slice(fileName.lastIndexOf(".") + 1).toLowerCase());
}

function formatByContent(bytes: Uint8Array): Format | undefined {
  const head = headOf(bytes);
  if (/^PRECEDENCE RELATIONS:/m.test(head)) return "psplib";
  if (/^\s*\{/.test(head)) return "json";
  if (/^(?:[ \t]*(?:#.*)?\r?\n|---\r?\n)*(?:nodes|defaults|name)[ \t]*:/.test(head)) return "graph";
  if (/^\s*\d+[ \t]*\r?\n\s*\d+[ \t]+\d+[ \t]+\d+/.test(head)) return "stg";
  return undefined;
}

function headOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES));
}

/** A graph file may be JSON too, and says best what is wrong with JSON that is none of these. */
function readJson(bytes: Uint8Array, fileName: string, options: ReadOptions): ReadResult {
  // Most that begin so are large graphs, which need not be parsed twice.
  if (/^\s*\{\s*"nodes"\s*:/.test(headOf(bytes))) return readGraph(bytes, fileName);
  const text = new TextDecoder().decode(bytes);
  const deepAt = findTooDeep(text, MAX_DEPTH);
  if (deepAt !== undefined)
    return refusal(
      lineAt(text, deepAt),
      `maps and lists are nested more than ${MAX_DEPTH} deep; flatten them`,
    );
  const root = parse(text);
  if (isMapping(root) && !Object.hasOwn(root, "nodes")) {
    if (Object.hasOwn(root, "workflow")) return readWfFormat(text, root, fileName);
    if (isIssue(root)) return readBeads(bytes, fileName, options);
  }
  if (root === undefined && isIssue(parse(firstLine(text)))) return readBeads(bytes, fileName, options);
  return root === undefined && formatByName(fileName) !== "json" ? UNKNOWN : readGraph(bytes, fileName);
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function isIssue(value: unknown): boolean {
  return isMapping(value) && (Object.hasOwn(value, "id") || Object.hasOwn(value, "_type"));
}

/** Nothing where the text is one line only, which was parsed already. */
function firstLine(text: string): string {
  const start = text.search(/\S/);
  const end = text.indexOf("\n", start);
  return end === -1 ? "" : text.slice(start, end);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
