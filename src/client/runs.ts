import type { RunAnswer, RunBody, RunCancelled, TaskPage, TaskSummary } from "../protocol/api-schemas.ts";
import { type CallOptions, get, path, post, repeatablePost } from "./calls.ts";
import type { Connection, Request } from "./connection.ts";
import { OrreryError } from "./errors.ts";

export type RunOptions = Omit<RunBody, "graph">;

/** A graph: what stands in a graph file, or its text in YAML or JSON. */
export async function submitRun(
  connection: Connection,
  graph: string | RunBody["graph"],
  options: RunOptions,
  { signal }: CallOptions,
): Promise<RunAnswer> {
  const id = options.id ?? crypto.randomUUID();
  const request = runRequest(graph, { ...options, id }, signal);
  if (options.id !== undefined) return await connection.send(request);
  try {
    return await connection.send({ ...request, isRepeatable: true });
  } catch (error) {
    // Nobody else has this id: it is ours, and its answer was lost.
    if (!(error instanceof OrreryError) || error.code !== "duplicate-run") throw error;
    return await connection.send(get(path`runs/${id}`, { signal }));
  }
}

export function cancelRun(connection: Connection, id: string, options: CallOptions): Promise<RunCancelled> {
  return connection.send(repeatablePost(path`runs/${id}/cancel`, undefined, options));
}

export function releaseRun(
  connection: Connection,
  id: string,
  options: CallOptions,
): Promise<{ readonly released: boolean }> {
  return connection.send(repeatablePost(path`runs/${id}/release`, undefined, options));
}

/** Of all nodes that failed, or were not run because others did, the first by time that did so itself. */
export async function firstFailure(
  connection: Connection,
  run: string,
  options: CallOptions,
): Promise<TaskSummary | undefined> {
  let first: TaskSummary | undefined;
  for await (const task of endedThemselves(connection, run, "failed", options))
    if (!first || endOf(task) < endOf(first)) first = task;
  return first;
}

/** Of all nodes that were cancelled, those that were so first: with one go, at the same time, those that nobody else needs. */
export async function firstCancelled(
  connection: Connection,
  run: string,
  options: CallOptions,
): Promise<readonly TaskSummary[]> {
  let first: TaskSummary[] = [];
  for await (const task of endedThemselves(connection, run, "cancelled", options)) {
    const at = first[0] ? endOf(first[0]) : undefined;
    if (at === undefined || endOf(task) < at) first = [task];
    else if (endOf(task) === at) first.push(task);
  }
  return first;
}

function endOf({ completed_at: at }: TaskSummary): string {
  return at ?? "";
}

async function* endedThemselves(
  connection: Connection,
  run: string,
  status: "failed" | "cancelled",
  options: CallOptions,
): AsyncGenerator<TaskSummary> {
  let cursor: string | null | undefined;
  do {
    const query = { run, status, limit: 1000, cursor };
    const page = await connection.send<TaskPage>(get("tasks", options, query));
    // Alternatives of a node belong to no place in the graph.
    for (const task of page.tasks) if (task.error_code !== "skipped" && task.node !== null) yield task;
    cursor = page.next;
  } while (cursor !== null);
}

/** A text is sent as it is, so that the server tells what is wrong with it by its lines. */
function runRequest(
  graph: string | RunBody["graph"],
  options: RunOptions,
  signal: AbortSignal | undefined,
): Request {
  if (typeof graph !== "string") return post("runs", { ...options, graph }, { signal });
  const type = graph.trimStart().startsWith("{") ? "application/json" : "application/yaml";
  const { name, id, fail_fast } = options;
  return {
    ...post("runs", undefined, { signal }),
    query: { name, id, fail_fast },
    headers: { "content-type": type },
    body: graph,
  };
}
