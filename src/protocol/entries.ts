import type { Faults, Path, Visit } from "./faults.ts";
import { isMapping, isRefusal, type Mapping, parseName } from "./node-settings.ts";
import type { Lines } from "./source-text.ts";
import { shown } from "./units.ts";

/** Of a node: in a map its id, in a list its index. */
type Key = string | number;

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
  readonly #lineOf = new Map<Key, number>();
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

  /** Keys in the order of the file. Those that an alias or a merge brought in come last. */
  inFileOrder(keys: readonly Key[]): readonly Key[] {
    if (this.#lineOf.size === 0) return keys;
    return [...this.#lineOf.keys(), ...keys.filter((key) => !this.#lineOf.has(key))];
  }

  lineOf(key: Key): number {
    return this.#lineOf.get(key) ?? this.#ownLine;
  }
}

/** Of a map of ids to nodes or a list of nodes with ids; of anything else none. */
export function keysOf(nodes: unknown): readonly Key[] {
  if (Array.isArray(nodes)) return [...nodes.keys()];
  return isMapping(nodes) ? Object.keys(nodes) : [];
}

/** The nodes whose ids can be read. An entry is made when it is asked for: most are read once, and need not be kept. */
export class Entries {
  readonly #nodes: Mapping;
  readonly #index: NodeIndex;
  readonly #keys: Key[] = [];
  readonly #ids: string[] = [];

  constructor(nodes: unknown, keys: readonly Key[], index: NodeIndex, faults: Faults) {
    const hasNodes = isMapping(nodes) || Array.isArray(nodes);
    this.#nodes = hasNodes ? (nodes as Mapping) : {};
    this.#index = index;
    if (!hasNodes) {
      faults.atValue(["nodes"], `nodes must be a map of ids to nodes, ${EXAMPLE}; got ${shown(nodes)}`);
      return;
    }
    const order = index.inFileOrder(keys);
    if (order.length === 0) faults.atKey(["nodes"], `nodes is empty; add at least one, ${EXAMPLE}`);
    for (let place = 0; place < order.length; place++) {
      const key = order[place] as Key;
      // Of two maps that are both called nodes only the second has values; the first is refused already.
      if (!Object.hasOwn(nodes, key)) continue;
      const id = typeof key === "string" ? idOfKey(key, faults) : idInList(this.#nodes[key], key, faults);
      if (id === undefined) continue;
      this.#keys.push(key);
      this.#ids.push(id);
    }
  }

  get count(): number {
    return this.#keys.length;
  }

  at(place: number): Entry {
    const key = this.#keys[place] as Key;
    const id = this.#ids[place] as string;
    return { id, path: ["nodes", key], value: this.#nodes[key], line: this.#index.lineOf(key) };
  }
}

function idOfKey(key: string, faults: Faults): string | undefined {
  const id = parseName(key);
  if (!isRefusal(id)) return id;
  faults.atKey(["nodes", key], `a node's id ${id.refusal}`);
  return undefined;
}

function idInList(node: unknown, key: number, faults: Faults): string | undefined {
  if (!isMapping(node) || !Object.hasOwn(node, "id")) {
    const got = isMapping(node) ? "it has none" : `got ${shown(node)}`;
    const wanted = 'must be a map with an id, such as {id: hello, run: "echo hello"}';
    faults.atValue(["nodes", key], `a node in a list ${wanted}; ${got}`);
    return undefined;
  }
  const id = parseName(node["id"]);
  if (!isRefusal(id)) return id;
  faults.atValue(["nodes", key, "id"], `a node's id ${id.refusal}`);
  return undefined;
}
