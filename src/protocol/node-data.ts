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

/** Deeper than any file that is read. */
const MAX_DEPTH = 90;

/** Undefined: the node is not called with arguments, but gets its payload as it is. */
export function readCall(map: Mapping, path: Path, faults: Faults): Call | undefined {
  if (!CALL_KEYS.some((key) => Object.hasOwn(map, key))) return undefined;
  if (Object.hasOwn(map, "payload"))
    faults.atKey([...path, "payload"], "payload does not go with args or inputs; move it into one of them");
  const reader = new ArgumentReader(faults);
  const { args = [], inputs = {} } = map;
  if (!Array.isArray(args))
    faults.atValue([...path, "args"], `args must be a list such as [1, {node: fetch}]; got ${shown(args)}`);
  if (!isMapping(inputs))
    faults.atValue(
      [...path, "inputs"],
      `inputs must be a map such as {x: {node: fetch}}; got ${shown(inputs)}`,
    );
  const payload = {
    args: Array.isArray(args) ? args.map((value, at) => reader.read(value, [...path, "args", at])) : [],
    inputs: isMapping(inputs) ? reader.readMap(inputs, [...path, "inputs"]) : {},
    ...(MANNER_KEYS.some((key) => Object.hasOwn(map, key)) && { as: readManner(map, path, faults) }),
  };
  return { payload, inputs: reader.inputs };
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

class ArgumentReader {
  readonly #faults: Faults;
  readonly #places = new Map<string, number>();

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  get inputs(): readonly string[] {
    return [...this.#places.keys()];
  }

  read(value: unknown, path: Path, depth = 0): unknown {
    if (depth > MAX_DEPTH) {
      this.#faults.atValue(path, `an argument must not be nested more than ${MAX_DEPTH} deep`);
      return null;
    }
    if (!isMapping(value)) return this.#members(value, path, depth);
    const keys = Object.keys(value);
    const [only] = keys;
    if (keys.length === 1 && only === "node") return this.#input(value["node"], [...path, "node"]);
    if (keys.length === 1 && only === "nodes") return this.#list(value["nodes"], [...path, "nodes"]);
    // A map as it is, whatever its only key; what it holds may be the results of nodes all the same.
    if (keys.length === 1 && only === "value")
      return this.#members(value["value"], [...path, "value"], depth);
    return this.readMap(value, path, depth);
  }

  #members(value: unknown, path: Path, depth: number): unknown {
    if (Array.isArray(value)) return value.map((item, at) => this.read(item, [...path, at], depth + 1));
    return isMapping(value) ? this.readMap(value, path, depth) : value;
  }

  readMap(map: Mapping, path: Path, depth = 0): Mapping {
    if (Object.hasOwn(map, "$input"))
      this.#faults.atKey([...path, "$input"], '"$input" is no name for an argument; choose another');
    const entries = Object.entries(map).map(
      ([key, value]) => [key, this.read(value, [...path, key], depth + 1)] as const,
    );
    return Object.fromEntries(entries);
  }

  #list(value: unknown, path: Path): unknown[] {
    if (Array.isArray(value)) return value.map((item, at) => this.#input(item, [...path, at]));
    this.#faults.atValue(path, `nodes must be a list of ids such as [fetch, clean]; got ${shown(value)}`);
    return [];
  }

  #input(value: unknown, path: Path): { readonly $input: number } {
    const id = parseName(value);
    if (isRefusal(id)) {
      this.#faults.atValue(path, `node ${id.refusal}; to pass such a map itself, write {value: …}`);
      return { $input: -1 };
    }
    const known = this.#places.get(id) ?? this.#places.size;
    this.#places.set(id, known);
    return { $input: known };
  }
}
