import { setMaxListeners } from "node:events";
import { expansionIdOf, taskIdOf } from "../core/index.ts";
import type { RunAnswer, TaskSummary } from "../protocol/api-schemas.ts";
import { pause } from "./back-off.ts";
import { type CallOptions, get, path } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { NodeFailed, OrreryError } from "./errors.ts";
import type { TaskGraph } from "./graph.ts";
import { type GraphNode, listOf, type ResultOf, type Wanted } from "./graph-node.ts";
import { inOrder, nodeResult } from "./node-result.ts";
import { cancelRun, firstCancelled, firstFailure, type RunOptions, releaseRun, submitRun } from "./runs.ts";
import { waitForRun, waitForTask } from "./waiting.ts";

export type ComputeOptions = Pick<RunOptions, "name"> & CallOptions;

/** Somebody did, so no node is to blame. */
const CANCELLED = { error_code: "cancelled", error_message: "the run was cancelled" };
/** How long a server that is away is asked to forget a run. */
const DISPOSE_MS = 5_000;
/** How long the answer to a submission is waited for that nobody wants any more; a large graph takes its time. */
const SUBMITTED_MS = 20_000;

/** How often a graph is submitted in all, where workers are lost that had results of a run that has ended. */
const MAX_RUNS = 3;
/** What is found lost within this time is made again together. */
const TOGETHER_MS = 50;

const NOT_AGAIN = {
  code: "result-lost",
  status: 410,
  detail: "the result was lost, and is not made again, since the computation was cancelled or released",
} as const;

/** Nodes that another computation makes. */
interface Remade {
  readonly nodes: GraphNode[];
  readonly start: Promise<Computation>;
}

/**
 * A graph that is being computed. Its wanted results are kept until they are released, or the computation is disposed of,
 * which cancels what still runs. One whose worker is lost before it was fetched is made again by another run.
 */
export class Computation<Nodes extends Wanted = Wanted> implements AsyncDisposable {
  /** The id of its run. */
  readonly run: string;
  readonly #connection: Connection;
  readonly #graph: TaskGraph;
  readonly #wanted: Nodes;
  readonly #name: string | undefined;
  /** Which of the runs that it takes this is, from 1 on. */
  readonly #number: number;
  /** By a node whose result was lost: where it is made again. */
  readonly #again = new Map<GraphNode, Promise<Computation>>();
  /** Those that are about to be, together. */
  #next: Remade | undefined;
  /** Those that began. */
  readonly #others: Computation[] = [];
  /** Aborted when nobody wants its results any more. */
  readonly #over = new AbortController();

  constructor(
    connection: Connection,
    run: string,
    graph: TaskGraph,
    wanted: Nodes,
    name?: string,
    number: number = 1,
  ) {
    this.#connection = connection;
    this.run = run;
    this.#graph = graph;
    this.#wanted = wanted;
    this.#name = name;
    this.#number = number;
    setMaxListeners(0, this.#over.signal);
  }

  /** The result of a wanted node as soon as it has completed, whatever else still runs. Throws `NodeFailed`. */
  async result<Result>(node: GraphNode<Result>, options: CallOptions = {}): Promise<Result> {
    if (!listOf(this.#wanted).includes(node))
      throw new TypeError(`the result of ${node.id} is not kept; name it when you start the graph`);
    for (;;) {
      const task = await waitForTask(this.#connection, taskIdOf(this.run, node.id), options);
      if (task.status !== "completed") throw await this.#failure(task, options);
      try {
        return (await this.#result(node, options)) as Result;
      } catch (error) {
        // Its worker was lost meanwhile, and the run, which goes on, makes it again.
        if (!hasCode(error, "not-completed")) throw error;
      }
    }
  }

  /** All wanted results, when the run has ended: by the first node that fails, if there is one. */
  async results(options: CallOptions = {}): Promise<ResultOf<Nodes>> {
    const nodes = listOf(this.#wanted);
    const { status } = await waitForRun(this.#connection, this.run, options);
    if (status !== "completed") throw await this.#failure(undefined, options);
    // First what is there, so that all that was lost is made again by one run.
    const found = await inOrder(nodes, (node) => this.#fetched(node, options));
    for (const [at, node] of nodes.entries()) if (!found[at]) void this.#remake(node, options);
    const results = await inOrder([...nodes.entries()], async ([at, node]) => {
      const there = found[at];
      return there ? there.value : await this.#result(node, options);
    });
    return (Array.isArray(this.#wanted) ? results : results[0]) as ResultOf<Nodes>;
  }

  /** False: it has ended. */
  async cancel(options: CallOptions = {}): Promise<boolean> {
    return await this.#end(
      async () => (await cancelRun(this.#connection, this.run, options)).cancelled,
      (other) => other.cancel(options),
    );
  }

  /** Lets workers forget its results. False: they have. */
  async release(options: CallOptions = {}): Promise<boolean> {
    return await this.#end(
      async () => (await releaseRun(this.#connection, this.run, options)).released,
      (other) => other.release(options),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const signal = AbortSignal.timeout(DISPOSE_MS);
    await this.cancel({ signal });
    await this.release({ signal });
  }

  /** All of them, whatever comes of the first; and no other begins. */
  async #end(
    first: () => Promise<boolean>,
    further: (other: Computation) => Promise<boolean>,
  ): Promise<boolean> {
    this.#over.abort(new OrreryError(NOT_AGAIN));
    const all = await Promise.allSettled([first(), ...this.#others.map(further)]);
    for (const one of all) if (one.status === "rejected") throw one.reason;
    return all.some((one) => one.status === "fulfilled" && one.value);
  }

  async #result(node: GraphNode, options: CallOptions): Promise<unknown> {
    const found = await this.#fetched(node, options);
    if (found) return found.value;
    const again = await unlessAborted(this.#remake(node, options), options.signal);
    return await again.result(node, options);
  }

  /** Undefined: it was lost, and is to be made again by another run, since this one has ended. */
  async #fetched(node: GraphNode, options: CallOptions): Promise<{ readonly value: unknown } | undefined> {
    const start = this.#again.get(node);
    if (start) {
      const again = await unlessAborted(start, options.signal);
      return { value: await again.result(node, options) };
    }
    try {
      return { value: await nodeResult(this.#connection, this.run, node.id, options) };
    } catch (error) {
      if (!hasCode(error, "result-lost") || this.#over.signal.aborted || this.#number === MAX_RUNS)
        throw error;
      return undefined;
    }
  }

  #remake(node: GraphNode, { signal }: CallOptions): Promise<Computation> {
    signal?.throwIfAborted();
    this.#over.signal.throwIfAborted();
    const before = this.#again.get(node);
    if (before) return before;
    this.#next ??= this.#gather();
    const { nodes, start } = this.#next;
    nodes.push(node);
    this.#again.set(node, start);
    return start;
  }

  #gather(): Remade {
    const nodes: GraphNode[] = [];
    const begin = async (): Promise<Computation> => {
      try {
        const { signal } = this.#over;
        await pause(TOGETHER_MS, signal);
        this.#next = undefined;
        const options = { signal, ...(this.#name !== undefined && { name: this.#name }) };
        const other = await startComputation(this.#connection, this.#graph, nodes, options, this.#number + 1);
        this.#others.push(other);
        if (signal.aborted) await other[Symbol.asyncDispose]();
        return other;
      } catch (error) {
        // Whoever asks next may have more luck.
        for (const node of nodes) this.#again.delete(node);
        throw error;
      }
    };
    const start = unlessAborted(begin(), this.#over.signal);
    // Those who wait hear of it.
    start.catch(() => {});
    return { nodes, start };
  }

  /** The node that failed; or, where none did, the one that somebody cancelled without the rest. */
  async #firstToEnd(options: CallOptions): Promise<TaskSummary | undefined> {
    const failed = await firstFailure(this.#connection, this.run, options);
    if (failed) return failed;
    const { status } = await this.#connection.send<RunAnswer>(get(path`runs/${this.run}`, options));
    if (status === "cancelled") return undefined;
    const wayOf = this.#graph.waysTo(this.#wanted);
    // Nearest to what was wanted is the one that somebody cancelled.
    const byWay = (await firstCancelled(this.#connection, this.run, options)).map(
      (task) => [wayOf(task.node ?? "").length, task] as const,
    );
    return byWay.sort(([a], [b]) => a - b)[0]?.[1];
  }

  /** Where it began to go wrong, and how that came to the node. */
  async #failure(task: TaskSummary | undefined, options: CallOptions): Promise<NodeFailed> {
    const first = (await this.#firstToEnd(options)) ?? task;
    if (!first)
      return new NodeFailed(
        this.run,
        CANCELLED,
        listOf(this.#wanted)
          .slice(0, 1)
          .map(({ id }) => id),
      );
    const way = this.#graph.waysTo(this.#wanted)(first.node ?? "");
    // What it returned was a graph, in which a node failed, and so on.
    let cause = first;
    while (cause.error_code === "expansion") {
      const added = expansionIdOf(cause.id, cause.attempt);
      const inner = await firstFailure(this.#connection, added, options);
      if (!inner) break;
      way.unshift(`${way[0]}/${inner.node}`);
      cause = inner;
    }
    return new NodeFailed(this.run, cause, way);
  }
}

export async function startComputation<Nodes extends Wanted>(
  connection: Connection,
  graph: TaskGraph,
  wanted: Nodes,
  { name, signal }: ComputeOptions,
  number: number = 1,
): Promise<Computation<Nodes>> {
  if (typeof graph?.toGraphFile !== "function")
    throw new TypeError("name a graph as graph() returned it, then the nodes that you want the results of");
  if (listOf(wanted).length === 0) throw new TypeError("name at least one node that you want the result of");
  signal?.throwIfAborted();
  const options = { fail_fast: true, ...(name !== undefined && { name }) };
  const patience = new Patience(signal);
  try {
    const { id } = await submitRun(connection, graph.toGraphFile(wanted), options, patience);
    const computation = new Computation(connection, id, graph, wanted, name, number);
    if (!signal?.aborted) return computation;
    await computation[Symbol.asyncDispose]().catch(() => {});
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    patience.end();
  }
  throw signal.reason;
}

/** What comes of it, or the reason of the signal where that is first. */
function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof OrreryError && error.code === code;
}

/**
 * A submission that is broken off may have arrived, and nobody would be there to cancel its run: so its answer is waited for, for
 * a while.
 */
class Patience {
  readonly #over = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    outer?.addEventListener("abort", this.#begin);
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#begin);
  }

  readonly #begin = (): void => {
    this.#timer = setTimeout(() => this.#over.abort(this.#outer?.reason), SUBMITTED_MS);
  };
}

/** Whoever gave up is told of nodes that nobody could have run. */
async function stuckError(connection: Connection, run: string, error: Error): Promise<Error> {
  const found = connection.send<RunAnswer>(
    get(path`runs/${run}`, { signal: AbortSignal.timeout(DISPOSE_MS) }),
  );
  const [first] = await found.then(
    ({ stuck }) => stuck,
    () => [],
  );
  if (!first) return error;
  const said = new Error(`${error.message}; ${first.node} could not begin: ${first.text}`, { cause: error });
  said.name = error.name;
  return said;
}

export async function compute<Nodes extends Wanted>(
  connection: Connection,
  graph: TaskGraph,
  wanted: Nodes,
  options: ComputeOptions,
): Promise<ResultOf<Nodes>> {
  const computation = await startComputation(connection, graph, wanted, options);
  try {
    return await computation.results(options);
  } catch (error) {
    throw options.signal?.aborted ? await stuckError(connection, computation.run, error as Error) : error;
  } finally {
    // What came of the computation is told, not what came of tidying up after it.
    await computation[Symbol.asyncDispose]().catch(() => {});
  }
}
