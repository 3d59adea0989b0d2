import type { ResultHandle } from "../protocol/index.ts";
import { GraphNode } from "./graph-node.ts";
import { lossOfPrimitive, stepOf } from "./json-loss.ts";

/** What may stand where a function takes a `T`: that, a node whose result it is, or nodes anywhere inside of it. */
export type Argument<T> = NodeOf<T> | Within<T>;

/** A meta node takes handles, of results of any type. */
type NodeOf<T> = [T] extends [ResultHandle] ? GraphNode : GraphNode<T>;

type Opaque = TaskFunction | ArrayBufferView | ArrayBuffer | Date | RegExp | Error;

type Within<T> = unknown extends T
  ? unknown
  : T extends Opaque | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
    ? T
    : T extends object
      ? { readonly [Key in keyof T]: Argument<T[Key]> }
      : T;

// biome-ignore lint/suspicious/noExplicitAny: whatever takes arguments and gives a result
export type TaskFunction = (...args: any) => unknown;

/** What may be given to a function. Not by `Parameters`, which knows no functions of a list that is read-only. */
export type ArgumentsOf<Run> = Run extends (...args: infer Given extends readonly unknown[]) => unknown
  ? { readonly [At in keyof Given]: Argument<Given[At]> }
  : never;

/** As the server reads them. */
const MAX_DEPTH = 90;
/** Words that a map of one key means something else by. */
const REFERENCES: readonly string[] = ["node", "nodes", "value"];

/**
 * Arguments as they stand in a graph file: a node as `{node: ID}`, and a map which could be mistaken for one as `{value: …}`.
 * What JSON would change is refused by its path.
 */
export class ArgumentWriter {
  /** The nodes that were named, each once. */
  readonly inputs: Set<string> = new Set();
  readonly #owner: string;
  readonly #idOf: (node: GraphNode, where: string) => string;

  constructor(owner: string, idOf: (node: GraphNode, where: string) => string) {
    this.#owner = owner;
    this.#idOf = idOf;
  }

  write(args: readonly unknown[]): unknown[] {
    const given = args.slice(0, args.findLastIndex((value) => value !== undefined) + 1);
    return Array.from(given, (value, at) => this.#value(value, `args[${at}]`, 0));
  }

  #value(value: unknown, path: string, depth: number): unknown {
    if (depth > MAX_DEPTH)
      throw this.#refused(`${path.slice(0, 40)}…`, `is nested more than ${MAX_DEPTH} deep`);
    if (value instanceof GraphNode) return this.#reference(value, path);
    if (Array.isArray(value)) return this.#list(value, path, depth);
    if (typeof value === "object" && value !== null) return this.#map(value, path, depth);
    const problem = problemOf(value);
    if (problem !== undefined) throw this.#refused(path, problem);
    return value;
  }

  #reference(node: GraphNode, path: string): { readonly node: string } {
    const id = this.#idOf(node, `${path} of ${this.#owner}`);
    this.inputs.add(id);
    return { node: id };
  }

  #list(list: readonly unknown[], path: string, depth: number): unknown[] {
    // Not by map, which passes over holes.
    return Array.from(list, (item, at) => this.#value(item, `${path}[${at}]`, depth + 1));
  }

  #map(map: object, path: string, depth: number): object {
    const prototype: unknown = Object.getPrototypeOf(map);
    if (prototype !== Object.prototype && prototype !== null)
      throw this.#refused(
        path,
        `is a ${map.constructor?.name || "value of a class"}, which JSON cannot carry`,
      );
    const entries = Object.entries(map).filter(([, value]) => value !== undefined);
    const bad = entries.find(([key]) => key === "$input" || key === "__proto__" || !isStorable(key));
    if (bad)
      throw this.#refused(path, `has the key ${JSON.stringify(bad[0])}, which an argument cannot have`);
    const written = Object.fromEntries(
      entries.map(([key, value]) => [key, this.#value(value, `${path}${stepOf(key)}`, depth + 1)]),
    );
    const [first] = entries;
    return first && entries.length === 1 && REFERENCES.includes(first[0]) ? { value: written } : written;
  }

  #refused(path: string, problem: string): TypeError {
    return new TypeError(
      `${path} of ${this.#owner} ${problem}; what can be cloned goes as a node: graph.value(…)`,
    );
  }
}

function problemOf(value: unknown): string | undefined {
  if (typeof value !== "string") return lossOfPrimitive(value);
  return isStorable(value) ? undefined : "has a NUL or half of a surrogate pair";
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
