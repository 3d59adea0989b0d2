// What somebody would do who reads a change, told to a scheduler.

import { BUDGET_PARTS, wireSpec } from "../src/graph/index.ts";
import type { LimitConfigured } from "../src/ledger/index.ts";
import { NO_RUN, type TaskKey, taskKey, type WorkerSpec } from "../src/placement/index.ts";
import { TIER_NAMES, type Tier } from "../src/queue/index.ts";
import {
  asEstimated,
  type Change,
  Play,
  type State,
  Status,
  type Stimulus,
  type Tasks,
  takeSnapshot,
} from "../src/scheduler/index.ts";

/** When a task starts, played on with the whole state, as estimated, after a change to it. */
export function startAfter(
  state: State,
  tasks: Tasks,
  node: number,
  now: number,
  change?: Change,
): number | undefined {
  const stimuli = change ? stimuliOf(state, tasks, node, change) : [];
  const isAgain = change?.kind === "priority" || change?.kind === "at-once";
  const key = isAgain ? taskKey(NO_RUN, state.nextTask) : taskKey(tasks.number, node);
  const play = new Play(takeSnapshot(state), now, {
    happenings: [{ at: now, stimuli }],
    endings: asEstimated,
    most: 20_000,
    isEnough: (at) => startOf(at, key) !== undefined,
  });
  return startOf(play, key);
}

function startOf({ last, state, now }: Play, key: TaskKey): number | undefined {
  if (key < 0) return last.get(key)?.startedAt;
  const run = state.runs.get(Math.floor(key / 2 ** 21));
  const status = run?.statusOf(key % 2 ** 21);
  const isSoToSay = status === Status.speculating || status === Status.completed;
  return last.get(key)?.startedAt ?? (isSoToSay ? now : undefined);
}

function stimuliOf(state: State, tasks: Tasks, node: number, change: Change): Stimulus[] {
  const zone = tasks.zoneOf(node);
  switch (change.kind) {
    case "resume":
      return change.executors.map((executor) => ({ kind: "QueueResumed", zone, executor }));
    case "agent-limit":
      return [{ kind: "AgentConfigured", zone, agent: change.agent, max: change.to }];
    case "limit":
      return [{ ...limitAt(state, zone, change.limit), concurrency: change.to }];
    case "rate":
      return [{ ...limitAt(state, zone, change.limit), rateCount: change.to }];
    case "worker":
      return Array.from({ length: change.count }, (_, at) => {
        const worker = { ...workerLike(state, zone, change), id: `one more worker ${at}` };
        return { kind: "WorkerRegistered", worker };
      });
    case "cancel":
      return [{ kind: "CancelRequested", ...placeOf(state, change.task.id) }];
    case "recharge":
      return [rechargeOf(state, change)];
    case "together":
      return change.changes.flatMap((one) => stimuliOf(state, tasks, node, one));
    case "priority":
    case "at-once": {
      const { id, spec, ...single } = state.singles.get(node);
      const asked =
        change.kind === "priority" ? { ...spec, priority: TIER_NAMES.indexOf(change.to) as Tier } : spec;
      return [
        { kind: "CancelRequested", run: NO_RUN, node },
        {
          kind: "TaskSubmitted",
          // Names end ties, so they are those that were tried.
          id: `${id} again`,
          agent: single.agent,
          zone,
          spec: wireSpec(asked),
          requestState: single.requestState,
          boostMicros: single.boostMicros,
          deadline: single.deadline,
          runAt: -1,
          requestHash: single.requestHash,
          attempts: 0,
        },
      ];
    }
  }
}

function limitAt(state: State, zone: string, name: string): LimitConfigured {
  const { concurrency, rateCount, ratePeriodMs } = state.limit(zone, name).toSnapshot();
  return { kind: "LimitConfigured", zone, name, concurrency, rateCount, ratePeriodMs };
}

function workerLike(
  state: State,
  zone: string,
  { like, adds }: Extract<Change, { kind: "worker" }>,
): WorkerSpec {
  const none = {
    id: "",
    endpoint: "",
    zone,
    zones: [],
    executors: [],
    capabilities: [],
    cpuMillicores: 0,
    memoryBytes: 0,
  };
  const spec =
    like === undefined
      ? { ...none, slots: 1 }
      : (state.fleet.known().find(({ id }) => id === like) as { spec: WorkerSpec }).spec;
  return {
    ...spec,
    executors: [...spec.executors, ...(adds.executor === undefined ? [] : [adds.executor])],
    capabilities: [...spec.capabilities, ...(adds.capabilities ?? [])],
    cpuMillicores: spec.cpuMillicores + (adds.cpuMillicores ?? 0),
    memoryBytes: spec.memoryBytes + (adds.memoryBytes ?? 0),
  };
}

function rechargeOf(state: State, { task, part, amount }: Extract<Change, { kind: "recharge" }>): Stimulus {
  const place = placeOf(state, task.id);
  const attempt = state.tasks(place.run).attemptOf(place.node);
  const amounts = BUDGET_PARTS.map((one) => (one === part ? amount : 0));
  return { kind: "TaskRecharged", ...place, attempt, amounts };
}

function placeOf(state: State, id: string): { readonly run: number; readonly node: number } {
  const single = state.singles.byId(id);
  if (single) return { run: NO_RUN, node: single.number };
  for (const run of state.runs.values()) {
    for (let node = 0; node < run.graph.size; node++)
      if (run.taskIdOf(node) === id) return { run: run.number, node };
  }
  throw new Error(`no task ${id}`);
}
