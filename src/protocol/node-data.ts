import type { Faults, Path } from "./faults.ts";
import { isMapping, isRefusal, type Mapping, parseName } from "./node-settings.ts";
import { shown } from "./units.ts";

/** What the function of a node is called with. Results of other nodes stand as `{"$input": k}`, k-th of `inputs`. */
export interface Call {
  readonly payload: {
    readonly args: readonly unknown[];
    readonly inputs: Mapping;
    /** How its worker is to run it; left out: as it likes. */
    readonly as?: CallManner;
  };
  /** Ids of the nodes whose results it gets, in the order in which they are first named. */
  readonly inputs: readonly string[];
}

export interface CallManner {
  readonly processor?: "main" | "thread";
  /** It waits more than it computes, and takes no slot of its worker. */
  readonly io?: true;
  /** It gets handles of its inputs, and runs beside the scheduler. */
  readonly meta?: true;
}

const MANNER_KEYS: readonly string[] = ["processor", "io", "meta"];
export const CALL_KEYS: readonly string[] = ["args", "inputs", ...MANNER_KEYS];

const NO_ARGS: readonly unknown[] = [];
const NO_INPUTS: Mapping = {};

/** Deeper than any file that is read. */
const MAX_DEPTH = 90;

/** Reads what functions are called with, one node after the other. */
export class CallReader {
  readonly #faults: Faults;
  /** The node that it reads, and where in it. They become a path where there is a fault, and most have none. */
  #node: Path = [];
  readonly #steps: (string | number)[] = [];
  readonly #inputs = new IdList();

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** Undefined: the node is not called with arguments, but gets its payload as it is. */
  read(map: Mapping, path: Path): Call | undefined {
    if (!hasSome(map, CALL_KEYS)) return undefined;
    if (Object.hasOwn(map, "payload"))
      this.#faults.atKey(
        [...path, "payload"],
        "payload does not go with args or inputs; move it into one of them",
      );
    const { args = NO_ARGS, inputs = NO_INPUTS } = map;
    if (!Array.isArray(args))
      this.#faults.atValue(
        [...path, "args"],
        `args must be a list such as [1, {node: fetch}]; got ${shown(args)}`,
      );
    if (!isMapping(inputs))
      this.#faults.atValue(
        [...path, "inputs"],
        `inputs must be a map such as {x: {node: fetch}}; got ${shown(inputs)}`,
      );
    else if (Object.hasOwn(inputs, "args"))
      this.#faults.atKey(
        [...path, "inputs", "args"],
        "an input cannot be called args, which is where the others are handed over; rename it",
      );
    this.#node = path;
    this.#steps[0] = "args";
    const readArgs = Array.isArray(args) ? this.#list(args, 0) : NO_ARGS;
    this.#steps[0] = "inputs";
    const readInputs = isMapping(inputs) ? this.#map(inputs, 1) : NO_INPUTS;
    const given = { args: readArgs, inputs: readInputs };
    const payload = hasSome(map, MANNER_KEYS) ? { ...given, as: readManner(map, path, this.#faults) } : given;
    return { payload, inputs: this.#inputs.take() };
  }

  /** With items of that depth. */
  #list(items: readonly unknown[], depth: number): unknown[] {
    const read = items.slice();
    for (let at = 0; at < items.length; at++) read[at] = this.#under(at, items[at], depth);
    return read;
  }

  #map(map: Mapping, depth: number): Mapping {
    if (map === NO_INPUTS) return map;
    if (Object.hasOwn(map, "$input"))
      this.#faults.atKey(this.#path("$input"), '"$input" is no name for an argument; choose another');
    return Object.fromEntries(Object.keys(map).map((key) => [key, this.#under(key, map[key], depth)]));
  }

  #under(step: string | number, value: unknown, depth: number): unknown {
    this.#steps.push(step);
    const read = this.#argument(value, depth);
    this.#steps.pop();
    return read;
  }

  #argument(value: unknown, depth: number): unknown {
    if (depth > MAX_DEPTH) {
      this.#faults.atValue(this.#path(), `an argument must not be nested more than ${MAX_DEPTH} deep`);
      return null;
    }
    if (!isMapping(value)) return this.#plain(value, depth);
    const only = onlyKeyOf(value);
    if (only === "node") return this.#input(value["node"], "node");
    if (only === "nodes") return this.#nodes(value["nodes"]);
    if (only !== "value") return this.#map(value, depth + 1);
    // A map as it is, whatever its only key; what it holds may be the results of nodes all the same.
    this.#steps.push("value");
    const read = this.#plain(value["value"], depth);
    this.#steps.pop();
    return read;
  }

  #plain(value: unknown, depth: number): unknown {
    if (Array.isArray(value)) return this.#list(value, depth + 1);
    if (isMapping(value)) return this.#map(value, depth + 1);
    if (typeof value !== "number" || Number.isFinite(value)) return value;
    this.#faults.atValue(
      this.#path(),
      `a number among the arguments must be finite; got ${shown(value)}; pass it as a text`,
    );
    return null;
  }

  #nodes(ids: unknown): unknown[] {
    if (!Array.isArray(ids)) {
      const message = `nodes must be a list of ids such as [fetch, clean]; got ${shown(ids)}`;
      this.#faults.atValue(this.#path("nodes"), message);
      return [];
    }
    this.#steps.push("nodes");
    const read = ids.map((id, at) => this.#input(id, at));
    this.#steps.pop();
    return read;
  }

  #input(value: unknown, step: string | number): { readonly $input: number } {
    const id = parseName(value);
    if (!isRefusal(id)) return { $input: this.#inputs.placeOf(id) };
    const message = `node ${id.refusal}; to pass such a map itself, write {value: …}`;
    this.#faults.atValue(this.#path(step), message);
    return { $input: -1 };
  }

  #path(...further: Path): Path {
    return [...this.#node, ...this.#steps, ...further];
  }
}

function onlyKeyOf(map: Mapping): string | undefined {
  let only: string | undefined;
  // Most arguments are results of nodes, and a list of keys for each would be in vain.
  for (const key in map) {
    if (only !== undefined) return undefined;
    only = key;
  }
  return only;
}

/** To look for an id among so many takes less than to keep a map of them. */
const FEW = 16;

/** Ids, each once, in the order in which they are first named: for many lists, most of them short, one after the other. */
export class IdList {
  readonly #ids: string[] = [];
  #count = 0;
  #places: Map<string, number> | undefined;

  placeOf(id: string): number {
    const known = this.#find(id);
    if (known !== undefined) return known;
    this.#places?.set(id, this.#count);
    this.#ids[this.#count] = id;
    return this.#count++;
  }

  #find(id: string): number | undefined {
    if (this.#count > FEW) {
      this.#places ??= new Map(this.#ids.slice(0, this.#count).map((other, at) => [other, at]));
      return this.#places.get(id);
    }
    for (let at = 0; at < this.#count; at++) if (this.#ids[at] === id) return at;
    return undefined;
  }

  /** All since it was last asked. */
  take(): readonly string[] {
    const ids = this.#ids.slice(0, this.#count);
    this.#count = 0;
    this.#places = undefined;
    return ids;
  }
}

function readManner(
  { processor, io = false, meta = false }: Mapping,
  path: Path,
  faults: Faults,
): CallManner {
  const isKnown = processor === undefined || processor === "main" || processor === "thread";
  if (!isKnown)
    faults.atValue([...path, "processor"], `processor must be main or thread; got ${shown(processor)}`);
  if (typeof io !== "boolean") faults.atValue([...path, "io"], `io must be true or false; got ${shown(io)}`);
  if (typeof meta !== "boolean")
    faults.atValue([...path, "meta"], `meta must be true or false; got ${shown(meta)}`);
  if (meta === true && processor !== undefined)
    faults.atKey(
      [...path, "processor"],
      "processor does not go with meta: such a node always has a thread; remove one",
    );
  return {
    ...(isKnown && processor !== undefined && { processor }),
    ...(io === true && { io }),
    ...(meta === true && { meta }),
  };
}

function hasSome(map: Mapping, keys: readonly string[]): boolean {
  for (const key of keys) if (Object.hasOwn(map, key)) return true;
  return false;
}
