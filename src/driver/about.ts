import { speculationTag, taskSpecOf } from "../graph/index.ts";
import type {
  CacheEvicted,
  ChunksFreed,
  LedgerEvent,
  TaskAssigned,
  TasksWithdrawn,
} from "../ledger/index.ts";
import { NO_RUN, taskKey } from "../placement/index.ts";
import { isHolding, type LettingGo, Result, type State } from "../scheduler/index.ts";
import type { About, AboutInput, TaskInputs } from "./attachment.ts";

/** Whom an event is about, in the state before it. */
export function aboutOf(state: State, event: LedgerEvent): About | undefined {
  if (event.kind === "TaskSubmitted") {
    const { zone, agent, id } = event;
    return { zone, agent, runId: undefined, task: { id, node: undefined, spec: taskSpecOf(event.spec) } };
  }
  if (event.kind === "RunSubmitted") {
    const { zone, agent, runId, parent } = event;
    const expanded = parent && state.run(parent.run).taskIdOf(parent.node);
    return { zone, agent, runId, task: undefined, ...(expanded && { expanded }) };
  }
  if (event.kind === "CacheEvicted") return aboutEvicted(state, event);
  if (!("run" in event)) return undefined;
  if (event.kind === "ChunksFreed") return aboutFreed(state, event);
  if (event.kind === "TasksWithdrawn") return aboutWithdrawn(state, event);
  const about = aboutTask(state, event.run, "node" in event ? event.node : -1);
  if (event.kind === "ChunkLost" && about)
    return { ...about, lost: state.run(event.run).chunkIdOf(event.node) };
  return event.kind === "TaskAssigned" ? withInputs(state, event, about) : about;
}

function aboutFreed(state: State, { run: number, nodes }: ChunksFreed): About {
  const run = state.run(number);
  const { zone, agent, id: runId } = run;
  // What was borrowed is only given back.
  const own = nodes.filter((node) => !run.data?.loans.has(node));
  const less = { run, nodes: new Set(own) };
  const freed = own.map((node) => {
    const id = run.chunkIdOf(node);
    const workers = run.data?.holdersOf(node) ?? [];
    const isShared = run.taskOf(node).cache !== undefined || run.data?.origins.has(node);
    return { id, workers: isShared ? forNobody(state, id, workers, less) : workers };
  });
  return { zone, agent, runId, task: undefined, freed };
}

function aboutEvicted(state: State, { zone, key }: CacheEvicted): About {
  const { chunk: id = "", holders = [] } = state.cache.keptAs(key) ?? {};
  const freed = [{ id, workers: forNobody(state, id, holders, "cache") }];
  return { zone, agent: "", runId: undefined, task: undefined, freed };
}

/** Those of the workers that keep it for nobody else. */
function forNobody(state: State, chunk: string, workers: readonly number[], less: LettingGo): number[] {
  return workers.filter((worker) => !isHolding(state, worker, chunk, less));
}

function aboutWithdrawn(state: State, { run: number, nodes }: TasksWithdrawn): About {
  const run = state.run(number);
  const { zone, agent, id: runId } = run;
  const withdrawn = nodes.map((node) => ({ id: run.taskIdOf(node), attempt: run.attemptOf(node) }));
  return { zone, agent, runId, task: undefined, withdrawn };
}

function withInputs(state: State, { run, node }: TaskAssigned, about: About | undefined): About | undefined {
  const inputs = inputsOf(state, run, node);
  if (!inputs || !about?.task) return about;
  const { zone, agent, runId } = about;
  const { id, node: nodeId, spec, alternative } = about.task;
  return { zone, agent, runId, task: { id, node: nodeId, spec, inputs, alternative } };
}

/** What a node gets; undefined where nodes of its run hand nothing to each other. */
export function inputsOf(state: State, number: number, node: number): TaskInputs | undefined {
  const run = state.runs.get(number);
  const { data, graph } = run ?? {};
  if (!run || !data || !graph) return undefined;
  const chunks: AboutInput[] = [];
  for (const input of graph.inputsOf(node)) {
    // The node that has the result: this one, or the one that it stands for.
    const { run: of, node: at } = data.loans.get(input) ?? { run, node: input };
    chunks.push({
      id: of.chunkIdOf(at),
      workers: of.data?.holders.get(at) ?? [],
      run: of.number,
      node: at,
      nodeId: graph.idOf(input),
      taskId: of.taskIdOf(at),
      isStored: of.data?.result[at] === Result.stored,
      bytes: run.resultBytes[input] as number,
      rootId: of.data?.roots.get(at),
    });
  }
  return { rootId: run.rootId, chunks };
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
    const alternative = { tag: speculationTag(at), of: run.taskIdOf(node), key: taskKey(run.number, node) };
    return { zone, agent, runId: run.id, task: { id, node: run.graph.idOf(node), spec, alternative } };
  }
  return { zone, agent, runId: undefined, task: { id, node: undefined, spec } };
}
