import { speculationTag, taskSpecOf } from "../graph/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import type { State } from "../scheduler/index.ts";
import type { About } from "./attachment.ts";

/** Whom an event is about, in the state before it. */
export function aboutOf(state: State, event: LedgerEvent): About | undefined {
  if (event.kind === "TaskSubmitted") {
    const { zone, agent, id } = event;
    return { zone, agent, runId: undefined, task: { id, node: undefined, spec: taskSpecOf(event.spec) } };
  }
  if (event.kind === "RunSubmitted") {
    const { zone, agent, runId } = event;
    return { zone, agent, runId, task: undefined };
  }
  if (!("run" in event)) return undefined;
  return aboutTask(state, event.run, "node" in event ? event.node : -1);
}

/** Of the node -1 there is no more to say than whose the run is. */
export function aboutTask(state: State, number: number, node: number): About | undefined {
  if (number === NO_RUN) return aboutSingle(state, state.singles.all.get(node));
  const run = state.runs.get(number);
  if (!run) return undefined;
  const { zone, agent, id: runId } = run;
  if (!run.has(node)) return { zone, agent, runId, task: undefined };
  const task = { id: run.taskIdOf(node), node: run.graph.idOf(node), spec: run.taskOf(node) };
  return { zone, agent, runId, task };
}

function aboutSingle(state: State, single: ReturnType<State["singles"]["byId"]>): About | undefined {
  if (!single) return undefined;
  const { zone, agent, id, spec, alternativeOf } = single;
  const run = alternativeOf && state.runs.get(alternativeOf.run);
  if (run) {
    const { node, at } = alternativeOf;
    const alternative = { tag: speculationTag(at), of: run.taskIdOf(node) };
    return { zone, agent, runId: run.id, task: { id, node: run.graph.idOf(node), spec, alternative } };
  }
  return { zone, agent, runId: undefined, task: { id, node: undefined, spec } };
}
