import type { RunNodesAnswer } from "../../../../src/protocol/api-schemas.ts";

export const NODE_STATUSES = [
  "waiting",
  "held",
  "ready",
  "delayed",
  "running",
  "completed",
  "failed",
  "cancelled",
  "skipped",
  "unknown",
] as const satisfies RunNodesAnswer["statuses"];

export type NodeStatus = (typeof NODE_STATUSES)[number];

type Told<Key extends "errors" | "tried" | "added"> = RunNodesAnswer[Key][number];

/** Where the nodes of a run stand, by node. Times are milliseconds after the run was submitted; -1: not yet, or not known. */
export interface Standing {
  /** What changes after it is asked for by this; null: nothing does. */
  readonly next: string | null;
  /** The server's time, and this machine's when it came. */
  readonly at: number;
  readonly seenAt: number;
  /** Places among `NODE_STATUSES`. */
  readonly status: Uint8Array;
  readonly attempt: Uint32Array;
  readonly started: Float64Array;
  readonly ended: Float64Array;
  /** Places among `workers`. */
  readonly worker: Int32Array;
  readonly workers: readonly string[];
  readonly bytes: Float64Array;
  readonly errors: ReadonlyMap<number, Told<"errors">>;
  readonly tried: ReadonlyMap<number, Told<"tried">>;
  readonly added: ReadonlyMap<number, string>;
}

export function standingFrom(answer: RunNodesAnswer): Standing {
  const size = answer.status.length;
  const nothing: Standing = {
    next: null,
    at: 0,
    seenAt: 0,
    status: new Uint8Array(size),
    attempt: new Uint32Array(size),
    started: new Float64Array(size),
    ended: new Float64Array(size),
    worker: new Int32Array(size),
    workers: [],
    bytes: new Float64Array(size),
    errors: new Map(),
    tried: new Map(),
    added: new Map(),
  };
  return withChanges(nothing, answer, undefined);
}

/** The columns of the answer belong to these nodes; undefined: to all. */
export function withChanges(
  before: Standing,
  answer: RunNodesAnswer,
  nodes: readonly number[] | undefined,
): Standing {
  const workers = [...before.workers];
  const workerAt = answer.workers.map((name) => {
    const known = workers.indexOf(name);
    return known === -1 ? workers.push(name) - 1 : known;
  });
  const statusAt = answer.statuses.map((name) => NODE_STATUSES.indexOf(name));
  const status = before.status.slice();
  const attempt = before.attempt.slice();
  const started = before.started.slice();
  const ended = before.ended.slice();
  const worker = before.worker.slice();
  const bytes = before.bytes.slice();
  for (let at = 0; at < answer.status.length; at++) {
    const node = nodes?.[at] ?? at;
    status[node] = statusAt[answer.status[at] as number] as number;
    attempt[node] = answer.attempt[at] as number;
    started[node] = answer.started[at] as number;
    ended[node] = answer.ended[at] as number;
    worker[node] = workerAt[answer.worker[at] as number] ?? -1;
    bytes[node] = answer.bytes[at] as number;
  }
  return {
    next: answer.next,
    at: Date.parse(answer.at),
    seenAt: Date.now(),
    status,
    attempt,
    started,
    ended,
    worker,
    workers,
    bytes,
    errors: new Map([...before.errors, ...answer.errors.map((one) => [one.node, one] as const)]),
    tried: new Map([...before.tried, ...answer.tried.map((one) => [one.node, one] as const)]),
    added: new Map([...before.added, ...answer.added.map(({ node, run_id }) => [node, run_id] as const)]),
  };
}

export function statusOf({ status }: Pick<Standing, "status">, node: number): NodeStatus {
  return NODE_STATUSES[status[node] ?? -1] ?? "unknown";
}

export function isOver(status: NodeStatus): boolean {
  return status === "completed" || status === "failed" || status === "cancelled" || status === "skipped";
}

export function countsOf({ status }: Standing): Map<NodeStatus, number> {
  const counts = new Uint32Array(NODE_STATUSES.length);
  for (const one of status) (counts[one] as number)++;
  return new Map(NODE_STATUSES.flatMap((name, at) => (counts[at] ? [[name, counts[at] as number]] : [])));
}
