import type { Faults, Path, Visit } from "./faults.ts";
import { isMapping, isRefusal, type Mapping, parseName } from "./node-settings.ts";
import type { Lines } from "./source-text.ts";
import { shown } from "./units.ts";

/** A node as it stands in the file. */
export interface Entry {
  readonly id: string;
  readonly path: Path;
  readonly value: unknown;
  readonly line: number;
}

export const EXAMPLE = 'such as nodes: {hello: {run: "echo hello"}}';

/** Remembers the order and the lines of the nodes while the file is parsed; the values keep neither. */
export class NodeIndex {
  readonly #lines: Lines;
  readonly #lineOf = new Map<string | number, number>();
  #ownLine = 1;

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  readonly visit: Visit = (path, keyOffset) => {
    if (path.length > 2 || path[0] !== "nodes") return;
    const key = path[1];
    const { line } = this.#lines.at(keyOffset);
    if (key === undefined) this.#ownLine = line;
    else if (!this.#lineOf.has(key)) this.#lineOf.set(key, line);
  };

  /** Keys with lines, in the order of the file. Those that an alias or a merge brought in come last. */
  inFileOrder(nodes: object): ReadonlyMap<string | number, number> {
    for (const key of Object.keys(nodes)) {
      const step = Array.isArray(nodes) ? Number(key) : key;
      if (!this.#lineOf.has(step)) this.#lineOf.set(step, this.#ownLine);
    }
    return this.#lineOf;
  }
}

/** The nodes, from a map of ids to nodes or a list of nodes with ids. */
export function readEntries(nodes: unknown, index: NodeIndex, faults: Faults): Entry[] {
  if (!isMapping(nodes) && !Array.isArray(nodes)) {
    faults.atValue(["nodes"], `nodes must be a map of ids to nodes, ${EXAMPLE}; got ${shown(nodes)}`);
    return [];
  }
  const order = index.inFileOrder(nodes);
  if (order.size === 0) faults.atKey(["nodes"], `nodes is empty; add at least one, ${EXAMPLE}`);
  const entries: Entry[] = [];
  for (const [key, line] of order) {
    // Of two maps that are both called nodes only the second has values; the first is refused already.
    if (!Object.hasOwn(nodes, key)) continue;
    const path = ["nodes", key];
    const value: unknown = (nodes as Mapping)[key];
    const id = typeof key === "string" ? idOfKey(key, path, faults) : idInList(value, path, faults);
    if (id !== undefined) entries.push({ id, path, value, line });
  }
  return entries;
}

function idOfKey(key: string, path: Path, faults: Faults): string | undefined {
  const id = parseName(key);
  if (!isRefusal(id)) return id;
  faults.atKey(path, `a node's id ${id.refusal}`);
  return undefined;
}

function idInList(node: unknown, path: Path, faults: Faults): string | undefined {
  if (!isMapping(node) || !Object.hasOwn(node, "id")) {
    const got = isMapping(node) ? "it has none" : `got ${shown(node)}`;
    const wanted = 'must be a map with an id, such as {id: hello, run: "echo hello"}';
    faults.atValue(path, `a node in a list ${wanted}; ${got}`);
    return undefined;
  }
  const id = parseName(node["id"]);
  if (!isRefusal(id)) return id;
  faults.atValue([...path, "id"], `a node's id ${id.refusal}`);
  return undefined;
}
