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

/** Takes a graph without problems (see `findGraphProblems`). */
export function wireGraph(nodes: readonly NodeSpec[]): WireGraph {
  const indexOf = new Map<string, number>();
  for (let index = 0; index < nodes.length; index++) indexOf.set((nodes[index] as NodeSpec).id, index);
  const specs = new SpecTable();
  const hasData = nodes.some(({ inputs, keep, task }) => inputs || keep || task.cache || task.mayAdd);
  return {
    ids: nodes.map((node) => node.id),
    spec: nodes.map((node) => specs.indexOf(node.task)),
    needs: nodes.map((node) => needsByIndex(node, indexOf)),
    requests: nodes.some((node) => node.requestHash !== "") ? nodes.map((node) => node.requestHash) : [],
    done: nodes.flatMap((node, index) => (node.done ? [index] : [])),
    specs: specs.all,
    ...(hasData && {
      inputs: nodes.map(({ inputs = [] }) => new Set(inputs).size),
      keep: nodes.flatMap(({ keep }, index) => (keep ? [index] : [])),
    }),
  };
}

const NONE: readonly number[] = [];

/** Each once: inputs as they are given, the others ascending, which most lists are already. */
function needsByIndex(node: NodeSpec, indexOf: ReadonlyMap<string, number>): readonly number[] {
  if (node.inputs === undefined || node.inputs.length === 0) return ascending(node, indexOf);
  const inputs = new Set(node.inputs.map((input) => indexOf.get(input) as number));
  // Most get the results of all that they need.
  if (node.needs === node.inputs) return [...inputs];
  const others = ascending(node, indexOf);
  return [...inputs, ...others.filter((need) => !inputs.has(need))];
}

function ascending({ id, needs }: NodeSpec, indexOf: ReadonlyMap<string, number>): readonly number[] {
  if (needs.length === 0) return NONE;
  const indexes: number[] = [];
  let last = -1;
  let inOrder = true;
  for (const need of needs) {
    const index = indexOf.get(need);
    if (index === undefined) violated(`node ${id} needs ${need}, which is in the graph`);
    inOrder &&= index > last;
    last = index;
    indexes.push(index);
  }
  return inOrder ? indexes : [...new Set(indexes)].sort((a, b) => a - b);
}

class SpecTable {
  readonly all: WireSpec[] = [];
  readonly #byText = new Map<string, number>();
  readonly #byObject = new Map<TaskSpec, number>();
  #last: TaskSpec | undefined;
  #lastIndex = -1;

  indexOf(task: TaskSpec): number {
    if (task !== this.#last) {
      this.#lastIndex = this.#byObject.get(task) ?? this.#add(task);
      this.#last = task;
    }
    return this.#lastIndex;
  }

  #add(task: TaskSpec): number {
    const wire = wireSpec(task);
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
