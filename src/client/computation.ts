import { expansionIdOf, taskIdOf } from "../core/index.ts";
import type { RunAnswer, TaskSummary } from "../protocol/api-schemas.ts";
import { type CallOptions, get, path } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { NodeFailed } from "./errors.ts";
import type { TaskGraph } from "./graph.ts";
import { type GraphNode, listOf, type ResultOf, type Wanted } from "./graph-node.ts";
import { nodeResult, nodeResults } from "./node-result.ts";
import { cancelRun, firstFailure, type RunOptions, releaseRun, submitRun } from "./runs.ts";
import { waitForRun, waitForTask } from "./waiting.ts";

export type ComputeOptions = Pick<RunOptions, "name"> & CallOptions;

/** Somebody did, so no node is to blame. */
const CANCELLED = { error_code: "cancelled", error_message: "the run was cancelled" };
/** How long a server that is away is asked to forget a run. */
const DISPOSE_MS = 5_000;
/** How long the answer to a submission is waited for that nobody wants any more; a large graph takes its time. */
const SUBMITTED_MS = 20_000;

/**
 * A graph that is being computed. Its wanted results are kept until they are released, or the computation is disposed of,
 * which cancels what still runs.
 */
export class Computation<Nodes extends Wanted = Wanted> implements AsyncDisposable {
  /** The id of its run. */
  readonly run: string;
  readonly #connection: Connection;
  readonly #graph: TaskGraph;
  readonly #wanted: Nodes;

  constructor(connection: Connection, run: string, graph: TaskGraph, wanted: Nodes) {
    this.#connection = connection;
    this.run = run;
    this.#graph = graph;
    this.#wanted = wanted;
  }

  /** The result of a wanted node as soon as it has completed, whatever else still runs. Throws `NodeFailed`. */
  async result<Result>(node: GraphNode<Result>, options: CallOptions = {}): Promise<Result> {
    if (!listOf(this.#wanted).includes(node))
      throw new TypeError(`the result of ${node.id} is not kept; name it when you start the graph`);
    const task = await waitForTask(this.#connection, taskIdOf(this.run, node.id), options);
    if (task.status !== "completed") throw await this.#failure(task, options);
    return (await nodeResult(this.#connection, this.run, node.id, options)) as Result;
  }

  /** All wanted results, when the run has ended: by the first node that fails, if there is one. */
  async results(options: CallOptions = {}): Promise<ResultOf<Nodes>> {
    const nodes = listOf(this.#wanted);
    const { status } = await waitForRun(this.#connection, this.run, options);
    if (status !== "completed") throw await this.#failure(undefined, options);
    const ids = nodes.map(({ id }) => id);
    const results = await nodeResults(this.#connection, this.run, ids, options);
    return (Array.isArray(this.#wanted) ? results : results[0]) as ResultOf<Nodes>;
  }

  /** False: it has ended. */
  async cancel(options: CallOptions = {}): Promise<boolean> {
    return (await cancelRun(this.#connection, this.run, options)).cancelled;
  }

  /** Lets workers forget its results. False: they have. */
  async release(options: CallOptions = {}): Promise<boolean> {
    return (await releaseRun(this.#connection, this.run, options)).released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const signal = AbortSignal.timeout(DISPOSE_MS);
    await this.cancel({ signal });
    await this.release({ signal });
  }

  /** Where it began to go wrong, and how that came to the node. */
  async #failure(task: TaskSummary | undefined, options: CallOptions): Promise<NodeFailed> {
    const first = (await firstFailure(this.#connection, this.run, options)) ?? task;
    if (!first)
      return new NodeFailed(
        this.run,
        CANCELLED,
        listOf(this.#wanted)
          .slice(0, 1)
          .map(({ id }) => id),
      );
    const way = this.#graph.wayFrom(first.node ?? "", this.#wanted);
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
): Promise<Computation<Nodes>> {
  if (listOf(wanted).length === 0) throw new TypeError("name at least one node that you want the result of");
  signal?.throwIfAborted();
  const options = { fail_fast: true, ...(name !== undefined && { name }) };
  const patience = new Patience(signal);
  try {
    const { id } = await submitRun(connection, graph.toGraphFile(wanted), options, patience);
    const computation = new Computation(connection, id, graph, wanted);
    if (!signal?.aborted) return computation;
    await computation[Symbol.asyncDispose]().catch(() => {});
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    patience.end();
  }
  throw signal.reason;
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
