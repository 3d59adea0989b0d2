import type { TaskAssigned } from "../ledger/index.ts";
import {
  type CandidateRow,
  type Needs,
  nodeOfKey,
  REJECTIONS,
  type Reason,
  type Rejection,
  runOfKey,
  taskKey,
} from "../placement/index.ts";
import { type InputPlace, type State, type Tasks, whereInputsAre, whyHere } from "../scheduler/index.ts";
import { type Decider, decide, decideFor } from "../words/index.ts";

/** Why a task was given to a worker. */
export interface Assignment {
  readonly seq: number;
  readonly at: number;
  readonly attempt: number;
  readonly worker: string;
  readonly reason: Reason;
  readonly runnerUp: string | null;
  readonly strategy: string;
  readonly decider: Decider;
  readonly needs: Needs;
  /** How much it counts towards each limit. */
  readonly limits: Readonly<Record<string, number>>;
  /** From when it was ready. */
  readonly waitedMs: number;
  readonly rejected: Readonly<Partial<Record<Rejection, number>>>;
  /** The chosen one first, then the others by rank, then the rejected by id. */
  readonly candidates: readonly Candidate[];
  /** Where the results were that it gets; left out where nodes hand nothing to each other. */
  readonly inputs?: readonly InputPlace[];
}

export interface Candidate extends CandidateRow {
  /** Capabilities that it lacks. */
  readonly missing: readonly string[];
  /** The node that it was kept free for. */
  readonly reservedFor: string | null;
}

/** In the state just before it. */
export function assignmentOf(
  state: State,
  tasks: Tasks,
  event: TaskAssigned,
  seq: number,
  at: number,
): Assignment {
  const { executor, capabilities, cpuMillicores, memoryBytes, limits, amounts } = tasks.taskOf(event.node);
  const needs = { executor, zone: tasks.zoneOf(event.node), capabilities, cpuMillicores, memoryBytes };
  const key = taskKey(tasks.number, event.node);
  const inputs = whereInputsAre(state, tasks, event.node);
  const rows = whyHere(state, tasks, event.node, at).map((row) => candidateOf(state, key, needs, row));
  const rejected: Partial<Record<Rejection, number>> = {};
  for (const [index, count] of event.rejected.entries()) {
    if (count > 0) rejected[REJECTIONS[index] as Rejection] = count;
  }
  return {
    seq,
    at,
    attempt: event.attempt,
    worker: state.worker(event.worker).id,
    reason: event.reason,
    runnerUp: state.fleet.workers[event.runnerUp]?.id ?? null,
    strategy: state.config.strategy,
    decider: decideFor(event, rows) ?? decide(state.config, rows),
    needs,
    limits: Object.fromEntries(limits.map((name, index) => [name, amounts[index] ?? 1])),
    waitedMs: Math.max(0, at - tasks.sinceOf(event.node)),
    rejected,
    candidates: rows.toSorted((a, b) => (a.rank ?? rows.length + 1) - (b.rank ?? rows.length + 1)),
    ...(inputs && { inputs }),
  };
}

function candidateOf(state: State, key: number, needs: Needs, row: CandidateRow): Candidate {
  const { reservedFor: reserved, spec } = state.worker(row.number);
  const held = spec.capabilities;
  return {
    ...row,
    missing: needs.capabilities.filter((capability) => !held.includes(capability)),
    reservedFor:
      reserved === undefined || reserved === key
        ? null
        : (state.runs.get(runOfKey(reserved))?.graph.idOf(nodeOfKey(reserved)) ??
          state.singles.taskIdOf(nodeOfKey(reserved))),
  };
}
