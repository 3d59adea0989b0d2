import type { RunParent, RunSubmitted } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import {
  cancelWithdrawn,
  type DataTurn,
  recomputeLinked,
  recomputeLost,
  withdrawFollowers,
} from "./data-decisions.ts";
import { isAhead } from "./followers.ts";
import { linkRefusal } from "./links.ts";
import { isCurrent } from "./reports.ts";
import type { Run } from "./run.ts";
import { Status } from "./status.ts";

/** What an attempt adds to its run is part of what was taken already: nothing more is asked than that it may. */
export function expand(
  turn: DataTurn,
  event: RunSubmitted,
  parent: RunParent,
): "stale" | "too-many-nodes" | undefined {
  const { state } = turn;
  const run = state.runs.get(parent.run);
  if (!run?.data || !isCurrent(run, { kind: "AttemptFinished", ...parent })) return "stale";
  if (run.statusOf(parent.node) === Status.cancelling || isAhead(state, run, parent.node)) return "stale";
  const { links = [] } = parent;
  if (event.graph.ids.length - links.length > (run.taskOf(parent.node).mayAdd ?? 0)) return "too-many-nodes";
  if (links.some(([, of, node]) => linkRefusal(state, parent, { run: of, node }))) return "stale";
  const stopped = withdrawFollowers(turn, run, parent.node);
  const number = state.nextRun;
  turn.emit(event);
  for (const node of stopped) cancelWithdrawn(turn, run, node);
  const added = state.run(number);
  recomputeLinked(turn, added, added.links.keys());
  turn.endIfDone(added);
  return undefined;
}

/** A node that expanded into a run has ended with it. */
export function endExpansion(turn: DataTurn, child: Run): void {
  const { run: number, node } = child.parent ?? { run: NO_RUN, node: -1 };
  const run = turn.state.runs.get(number);
  if (run?.statusOf(node) !== Status.expanded) return;
  if (child.outcome === "completed") {
    turn.emit({ kind: "ExpansionEnded", run: number, node, child: child.number });
    recomputeLost(turn, run);
  } else turn.fail(run, node, "expansion");
  turn.endIfDone(run);
}

export function cancelExpansion(turn: DataTurn, { number }: Run, node: number): void {
  for (const child of turn.state.dataRuns) {
    if (child.parent?.run !== number || child.parent.node !== node || child.outcome !== undefined) continue;
    turn.cancelRest(child);
    turn.endIfDone(child);
  }
}

/** The node that it was submitted for has ended without it. */
export function isOrphan({ state }: DataTurn, { parent }: Run): boolean {
  return parent !== undefined && state.runs.get(parent.run)?.statusOf(parent.node) !== Status.expanded;
}
