import { violated } from "../core/index.ts";
import type { Risk } from "./risk.ts";
import type { NodeSpec, Priority, TaskSpec } from "./spec.ts";
import type { TaskBudget } from "./task-budget.ts";

/**
 * A graph as it stands in the ledger: by columns, needs as indexes, equal task specifications once.
 * A million nodes are some thirty bytes each.
 */
export interface WireGraph {
  readonly specs: readonly WireSpec[];
  readonly ids: readonly string[];
  /** For each node the index of its specification. */
  readonly spec: readonly number[];
  /** For each node the indexes of the nodes it needs: first its inputs, then the others, ascending. */
  readonly needs: readonly (readonly number[])[];
  /** For each node the hash of its request; empty when no node has one. */
  readonly requests: readonly string[];
  /** Indexes of the nodes that were completed before. */
  readonly done: readonly number[];
  /** For each node how many of its needs are inputs; left out where nodes hand no data to each other and nothing is kept. */
  readonly inputs?: readonly number[];
  /** Indexes of the nodes whose results are kept; left out with them. */
  readonly keep?: readonly number[];
}

export type WireSpec = readonly [
  type: string,
  executor: string,
  cpuMillicores: number,
  memoryBytes: number,
  estimateMs: number,
  priority: Priority,
  capabilities: readonly string[],
  maxAttempts: number,
  backoffMs: number,
  timeoutMs: number,
  held: 0 | 1,
  limits?: readonly string[],
  amounts?: readonly number[],
  risk?: Risk,
  speculate?: 0 | 1,
  budget?: TaskBudget,
  cache?: string,
  mayAdd?: number,
  meta?: 0 | 1,
  io?: 0 | 1,
];

/** Takes a graph without problems (see `findGraphProblems`). What its tasks ask may be changed; nodes share few, and each is seen once. */
export function wireGraph(
  nodes: readonly NodeSpec[],
  asked: (task: TaskSpec) => TaskSpec = (task) => task,
): WireGraph {
  const specs = new SpecTable(asked);
  const needs = new NeedTable(nodes);
  const done: number[] = [];
  const keep: number[] = [];
  let hasData = false;
  let hasRequests = false;
  for (let index = 0; index < nodes.length; index++) {
    const node = nodes[index] as NodeSpec;
    needs.add(node);
    if (node.done) done.push(index);
    if (node.keep) keep.push(index);
    hasData ||= Boolean(node.inputs || node.keep || node.task.cache || node.task.mayAdd);
    hasRequests ||= node.requestHash !== "";
  }
  return {
    ids: nodes.map((node) => node.id),
    spec: nodes.map((node) => specs.indexOf(node.task)),
    needs: needs.all,
    requests: hasRequests ? nodes.map((node) => node.requestHash) : [],
    done,
    specs: specs.all,
    ...(hasData && { inputs: needs.inputs, keep }),
  };
}

const NONE: readonly number[] = [];

/** What each node needs, each once: inputs as they are given, then the others, ascending. */
class NeedTable {
  readonly all: (readonly number[])[] = [];
  /** How many of them are inputs. */
  readonly inputs: number[] = [];
  readonly #indexOf = new Map<string, number>();
  /** For each node the last one that was found to need it. */
  readonly #neededBy: Int32Array;
  /** Of the node that is added, and behind them what is left of others: a list of its own has no room to spare. */
  readonly #found: number[] = [];

  constructor(nodes: readonly NodeSpec[]) {
    for (let index = 0; index < nodes.length; index++)
      this.#indexOf.set((nodes[index] as NodeSpec).id, index);
    this.#neededBy = new Int32Array(nodes.length).fill(-1);
  }

  add(node: NodeSpec): void {
    const inputs = node.inputs ? this.#find(node.inputs, node, 0) : 0;
    // Most get the results of all that they need.
    const count = node.needs === node.inputs ? inputs : this.#find(node.needs, node, inputs);
    this.inputs.push(inputs);
    this.all.push(count === 0 ? NONE : ascendingFrom(inputs, this.#found.slice(0, count)));
  }

  #find(ids: readonly string[], { id }: NodeSpec, from: number): number {
    const node = this.all.length;
    let count = from;
    for (let at = 0; at < ids.length; at++) {
      const need = this.#indexOf.get(ids[at] as string);
      if (need === undefined) violated(`node ${id} needs ${ids[at]}, which is in the graph`);
      if (this.#neededBy[need] === node) continue;
      this.#neededBy[need] = node;
      this.#found[count++] = need;
    }
    return count;
  }
}

/** So few are put in order sooner by hand. */
const FEW = 16;

/** Most are in order already. */
function ascendingFrom(start: number, indexes: number[]): readonly number[] {
  for (let at = start + 1; at < indexes.length; at++) {
    const index = indexes[at] as number;
    if (index > (indexes[at - 1] as number)) continue;
    if (indexes.length - start > FEW)
      return [...indexes.slice(0, start), ...indexes.slice(start).sort((a, b) => a - b)];
    let to = at;
    for (; to > start && (indexes[to - 1] as number) > index; to--) indexes[to] = indexes[to - 1] as number;
    indexes[to] = index;
  }
  return indexes;
}

class SpecTable {
  readonly all: WireSpec[] = [];
  readonly #asked: (task: TaskSpec) => TaskSpec;
  readonly #byText = new Map<string, number>();
  readonly #byObject = new Map<TaskSpec, number>();
  #last: TaskSpec | undefined;
  #lastIndex = -1;

  constructor(asked: (task: TaskSpec) => TaskSpec) {
    this.#asked = asked;
  }

  indexOf(task: TaskSpec): number {
    if (task !== this.#last) {
      this.#lastIndex = this.#byObject.get(task) ?? this.#add(task);
      this.#last = task;
    }
    return this.#lastIndex;
  }

  #add(task: TaskSpec): number {
    const wire = wireSpec(this.#asked(task));
    const text = JSON.stringify(wire);
    let index = this.#byText.get(text);
    if (index === undefined) {
      index = this.all.push(wire) - 1;
      this.#byText.set(text, index);
    }
    this.#byObject.set(task, index);
    return index;
  }
}

export function wireSpec(task: TaskSpec): WireSpec {
  const wire = [
    task.type,
    task.executor,
    task.cpuMillicores,
    task.memoryBytes,
    task.estimateMs,
    task.priority,
    task.capabilities,
    task.maxAttempts,
    task.backoffMs,
    task.timeoutMs,
    task.held ? 1 : 0,
  ] as const;
  // What is as usual at the end is left out, as in ledgers from before there was anything else.
  const { limits, amounts, risk, budget, cache } = task;
  const speculate = task.speculate ? 1 : 0;
  const data = [...wire, limits, amounts, risk, speculate, budget, cache ?? ""] as const;
  if (task.io) return [...data, task.mayAdd ?? 0, task.meta ? 1 : 0, 1];
  if (task.meta) return [...data, task.mayAdd ?? 0, 1];
  if (task.mayAdd) return [...data, task.mayAdd];
  if (cache) return [...wire, limits, amounts, risk, speculate, budget, cache];
  if (budget.length > 0) return [...wire, limits, amounts, risk, task.speculate ? 1 : 0, budget];
  if (task.speculate) return [...wire, limits, amounts, risk, 1];
  if (risk !== "medium") return [...wire, limits, amounts, risk];
  if (amounts.length > 0) return [...wire, limits, amounts];
  return limits.length > 0 ? [...wire, limits] : wire;
}

/** Many tasks share one specification, and it is read from its wire form once. */
const READ = new WeakMap<WireSpec, TaskSpec>();

export function taskSpecOf(wire: WireSpec): TaskSpec {
  let spec = READ.get(wire);
  if (!spec) {
    spec = readSpec(wire);
    READ.set(wire, spec);
  }
  return spec;
}

function readSpec(wire: WireSpec): TaskSpec {
  const [
    type,
    executor,
    cpuMillicores,
    memoryBytes,
    estimateMs,
    priority,
    capabilities,
    maxAttempts,
    ...rest
  ] = wire;
  const [backoffMs, timeoutMs, held, limits = [], amounts = [], risk = "medium", ...last] = rest;
  const [speculate = 0, budget = [], cache, mayAdd, meta, io] = last;
  return {
    type,
    executor,
    cpuMillicores,
    memoryBytes,
    estimateMs,
    priority,
    capabilities,
    maxAttempts,
    backoffMs,
    timeoutMs,
    held: held === 1,
    limits,
    amounts,
    risk,
    speculate: speculate === 1,
    budget,
    ...(cache && { cache }),
    ...(mayAdd && { mayAdd }),
    ...(meta === 1 && { meta: true }),
    ...(io === 1 && { io: true }),
  };
}
