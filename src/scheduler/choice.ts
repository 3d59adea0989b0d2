import {
  type Choice,
  choose,
  chooseNear,
  DEFAULT_RATES,
  onlyChoice,
  type Subject,
} from "../placement/index.ts";
import { inputsOnWorkers, localityOf } from "./locality.ts";
import type { State } from "./state.ts";
import type { Tasks } from "./tasks.ts";

/** Of the state's candidates, the one that gets the task. */
export function chooseFor(state: State, tasks: Tasks, node: number, now: number): Choice {
  const { fleet, candidates, config } = state;
  const run = state.runs.get(tasks.number);
  const inputs = run && inputsOnWorkers(run, node, now);
  if (inputs) return chooseNear(fleet, candidates, inputs, config.transferRates ?? DEFAULT_RATES);
  if (candidates.count === 1) return onlyChoice(fleet, candidates);
  return choose(fleet, candidates, subjectOf(state, tasks, node));
}

export function subjectOf(state: State, tasks: Tasks, node: number): Subject {
  const task = tasks.taskOf(node);
  const run = state.runs.get(tasks.number);
  return {
    nodeId: run ? run.graph.idOf(node) : tasks.taskIdOf(node),
    type: task.type,
    zone: tasks.zoneOf(node),
    locality: run && localityOf(state, run, node),
  };
}
