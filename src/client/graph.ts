import type { RunBody } from "../protocol/api-schemas.ts";
import { type ArgumentsOf, ArgumentWriter, type TaskFunction } from "./graph-argument.ts";
import { GraphNode, listOf, type Wanted } from "./graph-node.ts";
import { piecesOf } from "./graph-value.ts";

/** How a node runs; the words and units are those of a graph file. */
export interface NodeOptions {
  /** By default the name of its function and a number. */
  readonly id?: string;
  /** Nodes that must complete before it, without giving it their results. */
  readonly needs?: GraphNode | readonly GraphNode[];
  /** In cores; 0 by default, since workers run as many functions at once as they have slots. */
  readonly cpu?: number | string;
  readonly memory?: number | string;
  readonly retries?: number;
  readonly backoff?: string;
  readonly timeout?: string;
  readonly estimate?: string;
  readonly size?: string;
  readonly priority?: "critical" | "high" | "normal" | "low" | "best_effort";
  readonly risk?: "critical" | "high" | "medium" | "low";
  /** "default" by default. */
  readonly executor?: string;
  readonly capabilities?: readonly string[];
  readonly limits?: readonly string[] | Readonly<Record<string, number>>;
  readonly tokens?: number;
  readonly speculate?: boolean;
  readonly budget?: Readonly<Record<string, number | string>>;
  /** Its result, if it is small, is used again by later runs for the same arguments and inputs; a text names the version of its function. */
  readonly cache?: boolean | string;
  /** On which of its worker's processors it runs; by default as the tasks file says, or on the main thread. */
  readonly processor?: "main" | "thread";
  /** It waits more than it computes, and takes no slot of its worker. */
  readonly io?: boolean;
  /** It may add nodes to its run by returning `expand(…)`: true, or how many at most. */
  readonly dynamic?: boolean | number;
  /** It runs beside the scheduler and gets what results are known by (`ResultHandle`) in place of them, so that nothing moves. */
  readonly meta?: boolean;
}

const OPTIONS: Readonly<Record<keyof NodeOptions, true>> = {
  id: true,
  needs: true,
  cpu: true,
  memory: true,
  retries: true,
  backoff: true,
  timeout: true,
  estimate: true,
  size: true,
  priority: true,
  risk: true,
  executor: true,
  capabilities: true,
  limits: true,
  tokens: true,
  speculate: true,
  budget: true,
  cache: true,
  dynamic: true,
  processor: true,
  io: true,
  meta: true,
};

/** Adds nodes to a graph, all with the same options. */
export interface NodeMaker {
  /** A function that a tasks file exports under its own name. */
  task<Run extends TaskFunction>(run: Run, ...args: ArgumentsOf<Run>): GraphNode<Awaited<ReturnType<Run>>>;
  /** What a tasks file exports under this name; with `task<typeof parse>("parse", …)` as typed as by function. */
  task<Run extends TaskFunction = (...args: unknown[]) => unknown>(
    name: string,
    ...args: ArgumentsOf<Run>
  ): GraphNode<Awaited<ReturnType<Run>>>;
}

interface Entry {
  readonly node: GraphNode;
  readonly needs: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
}

/** All nodes of a run, in the order in which they were added: none can need a later one. */
export class TaskGraph implements NodeMaker {
  readonly task: NodeMaker["task"] = this.#maker({});
  readonly #entries = new Map<string, Entry>();
  readonly #counts = new Map<string, number>();
  /** Nodes of the run that these are added to. */
  readonly #outside = new Map<string, GraphNode>();

  get size(): number {
    return this.#entries.size;
  }

  /** Adds nodes that run as the options say: `g.with({ retries: 2 }).task(parse, text)`. */
  with(options: NodeOptions): NodeMaker {
    checkOptions(options);
    return { task: this.#maker(options) };
  }

  /**
   * A value as a node: for what JSON cannot carry (a Buffer, typed arrays, a Date, a Map …), and for what several nodes get.
   * It travels with the graph, so it may have 8 MiB; larger ones are better made or read by a task.
   */
  value<Value>(value: Value): GraphNode<Value> {
    const { kind, pieces } = piecesOf(value);
    const parts =
      pieces.length === 1 ? pieces : pieces.map((piece) => this.#add("value", ["bytes", piece], {}));
    return this.#add("value", [kind, ...parts], {}) as GraphNode<Value>;
  }

  /** What stands in a graph file: all nodes, or those that the wanted ones need, with the results of these kept. */
  toGraphFile(wanted?: Wanted): RunBody["graph"] {
    for (const id of this.#outside.keys())
      throw new TypeError(
        `${id} is a node of another run, which only goes into a graph that is returned by expand`,
      );
    return this.#file(wanted);
  }

  #file(wanted?: Wanted): RunBody["graph"] {
    const kept = new Set((wanted === undefined ? [] : listOf(wanted)).map((node) => this.#idOf(node)));
    const taken = wanted === undefined ? undefined : this.#neededBy(kept);
    const nodes: Record<string, unknown> = {};
    for (const [id, { body }] of this.#entries) {
      if (taken && !taken.has(id)) continue;
      nodes[id] = kept.has(id) ? { ...body, keep: true } : body;
    }
    return { defaults: { executor: "default", resources: { cpu: 0 } }, nodes };
  }

  /**
   * A node of the run that these are added to, by its id: for a graph that a task returns by `expand`. It may have completed, or
   * be about to; its result is not moved for that.
   */
  node<Result = unknown>(id: string): GraphNode<Result> {
    const name = checkedName(id, "the id of a node");
    const known = this.#outside.get(name);
    if (known) return known as GraphNode<Result>;
    if (this.#entries.has(name))
      throw new TypeError(
        `there is a node ${JSON.stringify(name)} in this graph already; name those of the run first`,
      );
    const node = new GraphNode<Result>(name);
    this.#outside.set(name, node);
    return node;
  }

  /**
   * For a task to return instead of a result, where it was submitted as dynamic: these nodes are added to its run, and the
   * result of one of them is the task's.
   */
  expand<Result>(node: GraphNode<Result>): Result {
    if (this.#outside.get(node.id) === node)
      throw new TypeError(`${node.id} is of the run already; expand takes a node that is added`);
    const expansion = { graph: this.#file(node), result: this.#idOf(node) };
    return { [Symbol.for("orrery.expansion")]: expansion } as Result;
  }

  /** Says a shortest way from a node to one of the wanted, each needing the one before. */
  waysTo(wanted: Wanted): (id: string) => string[] {
    // Backwards from the wanted: towards which node each was met.
    const towards = new Map<string, string | undefined>(listOf(wanted).map((node) => [node.id, undefined]));
    for (const met of towards.keys())
      for (const need of this.#entries.get(met)?.needs ?? []) if (!towards.has(need)) towards.set(need, met);
    return (id) => {
      const way = [id];
      for (let next = towards.get(id); next !== undefined; next = towards.get(next)) way.push(next);
      return way;
    };
  }

  #maker(options: NodeOptions): NodeMaker["task"] {
    return ((run: TaskFunction | string, ...args: readonly unknown[]) =>
      this.#add(nameOf(run), args, options)) as NodeMaker["task"];
  }

  #add(name: string, args: readonly unknown[], options: NodeOptions): GraphNode {
    const id = this.#newId(name, options.id);
    const writer = new ArgumentWriter(id, (node, where) => this.#idOf(node, where));
    const written = writer.write(args);
    const { id: _, needs = [], cpu, memory, ...settings } = options;
    const after = listOf(needs).map((node) => this.#idOf(node));
    const resources = { cpu: cpu ?? 0, ...(memory !== undefined && { memory }) };
    const body = {
      task: name,
      args: written,
      ...(after.length > 0 && { needs: after }),
      ...((cpu ?? memory) !== undefined && { resources }),
      ...settings,
    };
    const node = new GraphNode(id);
    this.#entries.set(id, { node, needs: [...writer.inputs, ...after], body });
    return node;
  }

  #newId(name: string, asked: string | undefined): string {
    if (asked !== undefined) {
      const id = checkedName(asked, "the id of a node");
      if (!this.#entries.has(id) && !this.#outside.has(id)) return id;
      throw new TypeError(`there is a node ${JSON.stringify(id)} already; choose another id`);
    }
    for (;;) {
      const number = (this.#counts.get(name) ?? 0) + 1;
      this.#counts.set(name, number);
      const id = `${name}-${number}`;
      if (!this.#entries.has(id) && !this.#outside.has(id)) return id;
    }
  }

  #idOf(node: GraphNode, where = "it"): string {
    if (!(node instanceof GraphNode))
      throw new TypeError(`${where} must be a node, as task(…) and value(…) return them`);
    if (this.#entries.get(node.id)?.node !== node && this.#outside.get(node.id) !== node)
      throw new TypeError(`${where} is the node ${JSON.stringify(node.id)} of another graph`);
    return node.id;
  }

  #neededBy(ids: ReadonlySet<string>): ReadonlySet<string> {
    const found = new Set(ids);
    for (const id of found) for (const need of this.#entries.get(id)?.needs ?? []) found.add(need);
    return found;
  }
}

/** A new graph of tasks, to be computed by a client, by `local`, or written to a file. */
export function graph(): TaskGraph {
  return new TaskGraph();
}

/** The name under which workers know a function: that of its export, which has to be its own. */
function nameOf(run: TaskFunction | string): string {
  if (typeof run === "string") return checkedName(run, "the name of a task");
  if (typeof run !== "function")
    throw new TypeError(
      "a task is a function, or the name of what a tasks file exports; what task(…) or command(…) made goes by its name",
    );
  const { name } = run;
  if (NAME.test(name) && name !== "default" && !name.includes(" ")) return name;
  const which = name === "" ? "without a name" : `named ${JSON.stringify(name)}`;
  throw new TypeError(
    `no worker can find a function ${which}; export it, and give the name of that: task("name", …)`,
  );
}

/** As a server takes them, with room for a number behind it. */
const NAME = /^[^\p{Cc}\p{Cs}]{1,240}$/u;

function checkedName(name: string, what: string): string {
  if (name === "__proto__") throw new TypeError(`${what} cannot be "__proto__"; give it another`);
  if (typeof name === "string" && NAME.test(name)) return name;
  throw new TypeError(`${what} must be a text of 1 to 240 characters, none of them a control character`);
}

function checkOptions(options: NodeOptions): void {
  if (typeof options !== "object" || options === null)
    throw new TypeError("with takes the options of a node, such as { retries: 2 }");
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key));
  if (unknown === undefined) return;
  throw new TypeError(
    `a node has no option ${JSON.stringify(unknown)}; there are ${Object.keys(OPTIONS).join(", ")}`,
  );
}
