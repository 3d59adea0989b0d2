import { readDocument } from "./document.ts";
import { Entries, EXAMPLE, keysOf, NodeIndex } from "./entries.ts";
import { EnoughFaults, Faults, type Path, type Problem } from "./faults.ts";
import { type FileNode, NodeReader } from "./file-node.ts";
import { reportGraphProblems } from "./graph-faults.ts";
import {
  isMapping,
  isRefusal,
  parseName,
  readSettings,
  refuseUnknownKeys,
  SETTING_KEYS,
} from "./node-settings.ts";
import { Lines } from "./source-text.ts";
import { shown } from "./units.ts";

export interface GraphFile {
  readonly name: string;
  /** In the order of the file, which is the order of submission. */
  readonly nodes: readonly FileNode[];
}

export type GraphFileResult =
  | { readonly ok: true; readonly graph: GraphFile }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** What a file may ask of its reader; who reads files of strangers gives less than the defaults. */
export interface ReadLimits {
  readonly maxNodes?: number;
  /** As many end the reading. By default all are counted. */
  readonly maxProblems?: number;
  /** Of all that the nodes say, together with what the defaults say for each of them. */
  readonly maxCharacters?: number;
  /** Whether a node that is not in the file may be needed all the same. */
  readonly isOutside?: (id: string) => boolean;
}

const DEFAULT_MAX_NODES = 1_000_000;

/** Reads a graph from YAML or JSON, or says everything that is wrong with it. */
export function readGraphFile(
  source: string | Uint8Array,
  fileName: string,
  limits: ReadLimits = {},
): GraphFileResult {
  const result = readDocument(
    source,
    fileName,
    (lines) => {
      const index = new NodeIndex(lines);
      return {
        keepsText,
        visit: index.visit,
        refuses: (root, faults) =>
          isMapping(root) && hasTooMany(keysOf(root["nodes"]).length, limits, faults),
        read: (root, faults) => readGraph(root, fileName, limits, index, faults),
      };
    },
    limits.maxProblems,
  );
  return result.ok ? { ok: true, graph: result.value } : result;
}

/** The same of what was parsed from JSON already. As a text it is read only where something is wrong, to tell that in its order. */
export function readGraphValue(root: unknown, fileName: string, limits: ReadLimits): GraphFileResult {
  const graph = readFaultless(root, fileName, limits);
  return graph ? { ok: true, graph } : readGraphFile(JSON.stringify(root), fileName, limits);
}

function readFaultless(root: unknown, fileName: string, limits: ReadLimits): GraphFile | undefined {
  try {
    return readGraph(root, fileName, limits, new NodeIndex(new Lines("")), new Faults(1));
  } catch (error) {
    if (error instanceof EnoughFaults) return undefined;
    throw error;
  }
}

/** Asked before anything goes through the nodes, however many there are. */
function hasTooMany(count: number, limits: ReadLimits, faults: Faults): boolean {
  const { maxNodes = DEFAULT_MAX_NODES } = limits;
  if (count <= maxNodes) return false;
  faults.atOffset(0, ["nodes"], `nodes has ${count} entries and the limit is ${maxNodes}; split the graph`);
  return true;
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
  limits: ReadLimits,
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
  const keys = keysOf(root["nodes"]);
  if (hasTooMany(keys.length, limits, faults)) return undefined;
  const entries = new Entries(root["nodes"], keys, index, faults);
  const { maxCharacters = Number.POSITIVE_INFINITY } = limits;
  const reader = new NodeReader(defaults, faults, maxCharacters);
  const nodes: FileNode[] = [];
  for (let place = 0; place < entries.count; place++) {
    nodes.push(reader.read(entries.at(place)));
    if (!reader.isFull) continue;
    const message = `nodes ask for more than ${maxCharacters} characters together, with what defaults add to each; make the defaults smaller or split the graph`;
    faults.atKey(["nodes"], message);
    return undefined;
  }
  reportGraphProblems(nodes, entries, faults, limits.isOutside);
  return { name: isRefusal(name) ? "" : name, nodes: keepEnds(nodes) };
}

/** Where nodes hand data to each other and none is said to be kept, those are that nobody needs. */
function keepEnds(nodes: readonly FileNode[]): readonly FileNode[] {
  if (!nodes.some(({ spec }) => spec.inputs) || nodes.some(({ spec }) => spec.keep)) return nodes;
  const needed = new Set<string>();
  for (let place = 0; place < nodes.length; place++) {
    const { needs } = (nodes[place] as FileNode).spec;
    for (let at = 0; at < needs.length; at++) needed.add(needs[at] as string);
  }
  return nodes.map((node) =>
    needed.has(node.spec.id) ? node : { ...node, spec: { ...node.spec, keep: true } },
  );
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
