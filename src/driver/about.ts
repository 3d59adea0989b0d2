import { taskSpecOf } from "../graph/index.ts";
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
  const node = "node" in event ? event.node : -1;
  if (event.run === NO_RUN) return aboutSingle(state.singles.all.get(node));
  const run = state.runs.get(event.run);
  if (!run) return undefined;
  const { zone, agent, id: runId } = run;
  if (!run.has(node)) return { zone, agent, runId, task: undefined };
  const task = { id: run.taskIdOf(node), node: run.graph.idOf(node), spec: run.taskOf(node) };
  return { zone, agent, runId, task };
}

function aboutSingle(single: ReturnType<State["singles"]["byId"]>): About | undefined {
  if (!single) return undefined;
  const { zone, agent, id, spec } = single;
  return { zone, agent, runId: undefined, task: { id, node: undefined, spec } };
}
