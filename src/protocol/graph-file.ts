import { EXAMPLE, NodeIndex, readEntries } from "./entries.ts";
import { Faults, type ParsedText, type Path, type Problem, type Visit } from "./faults.ts";
import { type FileNode, NodeReader } from "./file-node.ts";
import { reportGraphProblems } from "./graph-faults.ts";
import { findJsonError } from "./json-syntax.ts";
import { jsonValue, parsedJson } from "./json-text.ts";
import {
  isMapping,
  isRefusal,
  parseName,
  readSettings,
  refuseUnknownKeys,
  SETTING_KEYS,
} from "./node-settings.ts";
import { decodeText, Lines } from "./source-text.ts";
import { shown } from "./units.ts";
import { parseYaml } from "./yaml-text.ts";

export interface GraphFile {
  readonly name: string;
  /** In the order of the file, which is the order of submission. */
  readonly nodes: readonly FileNode[];
}

export type GraphFileResult =
  | { readonly ok: true; readonly graph: GraphFile }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const DEFAULT_MAX_NODES = 1_000_000;

/** Reads a graph from YAML or JSON, or says everything that is wrong with it. */
export function readGraphFile(
  source: string | Uint8Array,
  fileName: string,
  options: { readonly maxNodes?: number } = {},
): GraphFileResult {
  const decoded = decodeText(source);
  if (!decoded.ok) {
    const { line, column, message } = decoded;
    return { ok: false, problems: [{ line, column, path: "", message }] };
  }
  const lines = new Lines(decoded.text);
  const faults = new Faults();
  const index = new NodeIndex(lines);
  const parsed = parse(decoded.text, fileName, lines, faults, index.visit);
  const graph =
    parsed && readGraph(parsed.value, fileName, options.maxNodes ?? DEFAULT_MAX_NODES, index, faults);
  if (graph && faults.count === 0) return { ok: true, graph };
  return { ok: false, problems: faults.problems(lines, parsed) };
}

function parse(
  text: string,
  fileName: string,
  lines: Lines,
  faults: Faults,
  entry: Visit,
): ParsedText | undefined {
  if (text.trim() === "") {
    faults.atOffset(0, [], `the file is empty; add a map ${EXAMPLE}`);
    return undefined;
  }
  const json = jsonValue(text);
  if (json) return parsedJson(text, json.value, lines, faults, entry);
  const error = fileName.toLowerCase().endsWith(".json") ? findJsonError(text) : undefined;
  if (error === undefined) return parseYaml(text, lines, faults, keepsText, entry);
  const found = text.slice(error.offset, error.offset + 1);
  const got = found === "" ? "the file ends" : `there is ${shown(found)}`;
  faults.atOffset(error.offset, [], `not valid JSON: expected ${error.expected} where ${got}`);
  return undefined;
}

/** Ids and environment variables are texts, with or without quotes. */
function keepsText([first, second, third, fourth]: Path): boolean {
  if (first === "name") return true;
  if (first === "defaults") return second === "env" && third !== undefined;
  return (
    first === "nodes" && (third === "needs" || third === "id" || (third === "env" && fourth !== undefined))
  );
}

function readGraph(
  root: unknown,
  fileName: string,
  maxNodes: number,
  index: NodeIndex,
  faults: Faults,
): GraphFile | undefined {
  if (!isMapping(root)) {
    const got = root === null ? "the file is empty" : `the file must be a map, not ${shown(root)}`;
    faults.atOffset(0, [], `${got}; add a map ${EXAMPLE}`);
    return undefined;
  }
  refuseUnknownKeys(root, ["name", "defaults", "nodes"], [], "the file", faults);
  const name = Object.hasOwn(root, "name") ? parseName(root["name"]) : baseName(fileName);
  if (isRefusal(name)) faults.atValue(["name"], `name ${name.refusal}`);
  const defaults = Object.hasOwn(root, "defaults") ? readDefaults(root["defaults"], faults) : {};

  if (!Object.hasOwn(root, "nodes")) {
    faults.atOffset(0, [], `nodes is missing; add it, ${EXAMPLE}`);
    return undefined;
  }
  const entries = readEntries(root["nodes"], index, faults);
  if (entries.length > maxNodes) {
    faults.atKey(
      ["nodes"],
      `nodes has ${entries.length} entries and the limit is ${maxNodes}; split the graph`,
    );
    return undefined;
  }
  const reader = new NodeReader(defaults, faults);
  const nodes = entries.map((entry) => reader.read(entry));
  reportGraphProblems(nodes, entries, faults);
  return { name: isRefusal(name) ? "" : name, nodes };
}

function baseName(fileName: string): string {
  const base = fileName.replace(/^.*[\\/]/s, "").replace(/\.[^.]*$/, "");
  const name = parseName(base);
  return isRefusal(name) || name === "-" ? "graph" : name;
}

function readDefaults(value: unknown, faults: Faults): ReturnType<typeof readSettings> {
  if (!isMapping(value)) {
    faults.atValue(["defaults"], `defaults must be a map such as {retries: 1}; got ${shown(value)}`);
    return {};
  }
  for (const key of ["run", "task", "needs", "id"].filter((key) => Object.hasOwn(value, key))) {
    faults.atKey(["defaults", key], `${key} cannot be a default; write it in each node`);
  }
  refuseUnknownKeys(value, [...SETTING_KEYS, "run", "task", "needs", "id"], ["defaults"], "defaults", faults);
  return readSettings(value, ["defaults"], faults);
}
