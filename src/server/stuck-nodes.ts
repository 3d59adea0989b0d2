import { isUnsatisfiable, type Run, type State, whyNotYet } from "../scheduler/index.ts";
import type { StuckNodes } from "./api.ts";
import { unsatisfiableText } from "./explanation.ts";

/** Kinds of nodes that are told of. */
const MOST = 20;

/** What is ready in a run, or in one that its nodes expanded into, and no worker that is known could run. */
export function stuckNodes(state: State, run: Run, now: number, path = ""): StuckNodes[] {
  if (run.outcome !== undefined) return [];
  const found: StuckNodes[] = [];
  for (const { group, node, size } of run.lanes()) {
    if (size === 0 || !isUnsatisfiable(state, group)) continue;
    const [reason] = whyNotYet(state, run, node, now);
    const { type, executor } = run.taskOf(node);
    if (reason)
      found.push({
        node: `${path}${run.graph.idOf(node)}`,
        nodes: size,
        text: unsatisfiableText(state, { type, executor, zone: run.zone }, reason, now),
      });
  }
  for (const child of state.dataRuns) {
    if (found.length >= MOST) break;
    if (child.parent?.run !== run.number) continue;
    found.push(...stuckNodes(state, child, now, `${path}${run.graph.idOf(child.parent.node)}/`));
  }
  return found.slice(0, MOST);
}
