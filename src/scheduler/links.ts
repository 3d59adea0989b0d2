/**
 * Nodes of an added run that stand for nodes of the runs above it. They are never given to a worker: each has the result of the
 * other once there is one. That result is kept for as long as something here needs it, is made again when it was freed or lost,
 * and stays where it is: whoever asks where a link's result is, is told where the other's is.
 */

import type { RunParent } from "../ledger/index.ts";
import { nodeOfKey, runOfKey, type TaskKey, taskKey } from "../placement/index.ts";
import type { DataTurn } from "./data-decisions.ts";
import type { Run } from "./run.ts";
import { Result } from "./run-data.ts";
import type { State } from "./state.ts";
import { isEnded, Status } from "./status.ts";

/** Why a node cannot stand for another; undefined: it can. */
export type LinkRefusal = "unknown" | "ended" | "circle" | undefined;

export function linkRefusal(
  state: State,
  { run: number, node }: Pick<RunParent, "run" | "node">,
  of: { readonly run: number; readonly node: number },
): LinkRefusal {
  const above = runsAbove(state, number);
  const target = above.find((run) => run.number === of.run);
  if (!target?.has(of.node) || target.links.has(of.node)) return "unknown";
  const status = target.statusOf(of.node);
  if (isEnded(status) && status !== Status.completed) return "ended";
  const adding = new Set([taskKey(number, node)]);
  for (const { parent } of above) if (parent) adding.add(taskKey(parent.run, parent.node));
  const wasMade = [...adding].some((key) => hasBeenMade(state.run(runOfKey(key)), nodeOfKey(key)));
  return waitsFor(state, target, of.node, adding, wasMade) ? "circle" : undefined;
}

/** Whether it may have had a result before its last attempt: made, or found. */
function hasBeenMade(run: Run, node: number): boolean {
  return run.attemptOf(node) > 1 || run.data?.found.has(node) === true;
}

/** The node that is called so in the run of an attempt or the next above it that has one. */
export function nodeAbove(
  state: State,
  number: number,
  id: string,
): { readonly run: number; readonly node: number } | undefined {
  for (const run of runsAbove(state, number)) {
    const node = run.graph.indexOf(id);
    if (node !== undefined) return run.links.get(node) ?? { run: run.number, node };
  }
  return undefined;
}

/** A run, the one that it was added to, and so on. */
function runsAbove(state: State, number: number): Run[] {
  const runs: Run[] = [];
  for (let run = state.runs.get(number); run; run = run.parent && state.runs.get(run.parent.run))
    runs.push(run);
  return runs;
}

/**
 * Whether a node completes only after one of these has; or, where these were made before, was made of what they made then, and would
 * have to be again if its result were lost.
 */
function waitsFor(
  state: State,
  run: Run,
  node: number,
  these: ReadonlySet<TaskKey>,
  wereMade: boolean,
): boolean {
  const seen = new Set<TaskKey>();
  const open = [{ run, node }];
  for (let next = open.pop(); next; next = open.pop()) {
    const key = taskKey(next.run.number, next.node);
    if (these.has(key)) return true;
    if (seen.has(key) || (!wereMade && isEnded(next.run.statusOf(next.node)))) continue;
    seen.add(key);
    const { run: at, node: one } = next;
    const { start, targets } = at.graph.dependencies;
    for (const need of targets.subarray(start[one], start[one + 1])) open.push({ run: at, node: need });
    const loan = at.data?.loans.get(one);
    if (loan) open.push(loan);
    if (at.statusOf(one) === Status.expanded) open.push(...nodesAddedBy(state, at, one));
  }
  return false;
}

/** All nodes of the run that a node expanded into, which ends with the last of them. */
function nodesAddedBy(state: State, { number }: Run, node: number): { run: Run; node: number }[] {
  const children = [...state.dataRuns].filter(
    ({ parent, outcome }) => parent?.run === number && parent.node === node && outcome === undefined,
  );
  return children.flatMap((run) => Array.from(run.status, (_, at) => ({ run, node: at })));
}

/** Gives links the results that are there, and fails those that will get none. False: nothing has changed. */
export function settleLinks(turn: DataTurn): boolean {
  if (turn.state.withLinks.size === 0) return false;
  let hasChanged = false;
  for (const number of [...turn.state.withLinks].sort((a, b) => a - b)) {
    const run = turn.state.runs.get(number);
    // It has ended with one before it.
    if (!run) continue;
    for (const link of [...(run.data?.awaited ?? [])].sort((a, b) => a - b))
      if (settleLink(turn, run, link)) hasChanged = true;
    turn.endIfDone(run);
  }
  return hasChanged;
}

function settleLink(turn: DataTurn, run: Run, link: number): boolean {
  const loan = run.data?.awaited.has(link) ? run.data.loans.get(link) : undefined;
  if (!loan) return false;
  const { run: of, node } = loan;
  const status = of.statusOf(node);
  if (!isEnded(status)) return false;
  if (status !== Status.completed) {
    turn.fail(run, link, "link");
    return true;
  }
  const result = of.data?.result[node];
  if (result !== Result.stored && result !== Result.held) return false;
  turn.emit({
    kind: "TaskReused",
    run: run.number,
    node: link,
    taskId: of.taskIdOf(node),
    resultHash: of.data?.hashes.get(node) ?? "",
    resultBytes: of.resultBytes[node] as number,
  });
  return true;
}
