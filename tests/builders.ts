// What tests of the pure parts are written with: plain values with defaults, and a loop that turns.

import { type NodeSpec, type TaskSpec, wireGraph, wireSpec } from "../src/graph/index.ts";
import {
  type AttemptFailed,
  type AttemptFinished,
  type AttemptStarted,
  type Block,
  BlockWriter,
  GENESIS,
  type Head,
  headOf,
  type LedgerEvent,
  type RunSubmitted,
  type SchedulerConfig,
  type TaskSubmitted,
  type WorkerRegistered,
} from "../src/ledger/index.ts";
import type { Strategy, WorkerSpec } from "../src/placement/index.ts";
import {
  DEFAULT_CONFIG,
  type Reply,
  type Run,
  STATUS_NAMES,
  State,
  type StatusName,
  type Stimulus,
  step,
} from "../src/scheduler/index.ts";

export const HOUR_MS = 3_600_000;

/** All of them: a new one does not compile until it is named here. */
export const STRATEGIES: readonly Strategy[] = Object.keys({
  "round-robin": true,
  "least-loaded": true,
  random: true,
  affinity: true,
} satisfies Record<Strategy, true>) as Strategy[];

export type NodeOptions = Partial<TaskSpec> &
  Partial<Pick<NodeSpec, "needs" | "inputs" | "keep" | "requestHash" | "done">>;

export function aNode(id: string, options: NodeOptions = {}): NodeSpec {
  const { inputs, keep, requestHash = "", done = false, ...rest } = options;
  const { needs = inputs ?? [], ...task } = rest;
  const data = { ...(inputs && { inputs }), ...(keep && { keep }) };
  return { id, needs, ...data, requestHash, done, task: { ...A_TASK, ...task } };
}

const A_TASK: TaskSpec = {
  type: "command",
  executor: "shell",
  cpuMillicores: 100,
  memoryBytes: 100,
  estimateMs: 1_000,
  priority: 2,
  capabilities: [],
  maxAttempts: 1,
  backoffMs: 0,
  timeoutMs: 0,
  held: false,
  limits: [],
  amounts: [],
  risk: "medium",
  speculate: false,
  budget: [],
};

export function aWorker(id: string, options: Partial<WorkerSpec> = {}): WorkerSpec {
  return {
    id,
    endpoint: "",
    zone: "here",
    zones: [],
    executors: ["shell"],
    capabilities: [],
    cpuMillicores: 1_000,
    memoryBytes: 1_000,
    slots: 1,
    ...options,
  };
}

export function aConfig(options: Partial<SchedulerConfig> = {}): SchedulerConfig {
  return { ...DEFAULT_CONFIG, maxQueuePerWorker: 0, ...options };
}

export function joins(id: string, options: Partial<WorkerSpec> = {}): WorkerRegistered {
  return { kind: "WorkerRegistered", worker: aWorker(id, options) };
}

export function submits(
  runId: string,
  nodes: readonly NodeSpec[],
  options: Partial<Pick<RunSubmitted, "name" | "agent" | "zone" | "onFailure">> = {},
): RunSubmitted {
  return {
    kind: "RunSubmitted",
    runId,
    name: runId,
    agent: "ann",
    zone: "here",
    onFailure: "continue",
    ...options,
    graph: wireGraph(nodes),
  };
}

/** A task of no run. */
export function submitsTask(
  id: string,
  options: Partial<TaskSpec> = {},
  more: Partial<TaskSubmitted> = {},
): TaskSubmitted {
  return {
    kind: "TaskSubmitted",
    id,
    agent: "ann",
    zone: "here",
    spec: wireSpec({ ...aNode(id).task, ...options }),
    requestState: "pending",
    boostMicros: 0,
    deadline: -1,
    runAt: -1,
    requestHash: "",
    attempts: 0,
    ...more,
  };
}

/** What a turn did: its events, the same as short texts, and the replies to its stimuli. */
export interface Told {
  readonly events: readonly LedgerEvent[];
  readonly texts: readonly string[];
  readonly replies: readonly Reply[];
}

/** A scheduler with its ledger, configured in a first turn at time 0. */
export class Loop {
  readonly state: State = new State();
  readonly blocks: Block[] = [];
  #head: Head = GENESIS;

  constructor(config: Partial<SchedulerConfig> = {}) {
    this.turn(0, { kind: "SchedulerConfigured", config: aConfig(config) });
  }

  turn(now: number, ...stimuli: readonly Stimulus[]): Told {
    const events: LedgerEvent[] = [];
    const texts: string[] = [];
    const writer = new BlockWriter();
    const replies = step(this.state, now, stimuli, (event) => {
      writer.add(event);
      events.push(event);
      texts.push(this.#textOf(event));
    });
    if (writer.count > 0) {
      const block = writer.seal(this.#head, 1, now);
      this.#head = headOf(block);
      this.blocks.push(block);
    }
    return { events, texts, replies };
  }

  get head(): Head {
    return this.#head;
  }

  run(runId: string): Run {
    const run = this.state.runById(runId);
    if (!run) throw new Error(`no run ${runId}`);
    return run;
  }

  /** The current attempt of a node, as reports name it. */
  attempt(runId: string, nodeId: string): Pick<AttemptStarted, "run" | "node" | "attempt" | "startedAt"> {
    const run = this.run(runId);
    const node = this.index(runId, nodeId);
    return { run: run.number, node, attempt: run.attempt[node] ?? 0, startedAt: this.state.now };
  }

  started(runId: string, nodeId: string): AttemptStarted {
    return { kind: "AttemptStarted", ...this.attempt(runId, nodeId) };
  }

  finished(runId: string, nodeId: string, resultBytes = 0, resultHash = ""): AttemptFinished {
    return { kind: "AttemptFinished", ...this.attempt(runId, nodeId), resultHash, resultBytes };
  }

  failed(runId: string, nodeId: string): AttemptFailed {
    return { kind: "AttemptFailed", ...this.attempt(runId, nodeId), code: "exit", message: "exit code 1" };
  }

  index(runId: string, nodeId: string): number {
    const index = this.run(runId).graph.indexOf(nodeId);
    if (index === undefined) throw new Error(`no node ${nodeId} in ${runId}`);
    return index;
  }

  status(runId: string, nodeId: string): StatusName {
    return STATUS_NAMES[this.run(runId).statusOf(this.index(runId, nodeId))] as StatusName;
  }

  /** `TaskAssigned build#1 worker-2`: kind, node and attempt, worker; for the end of a run its outcome. */
  #textOf(event: LedgerEvent): string {
    const words: string[] = [event.kind];
    if ("node" in event && event.node >= 0) {
      const id = this.state.runs.get(event.run)?.graph.idOf(event.node) ?? `${event.run}/${event.node}`;
      words.push("attempt" in event ? `${id}#${event.attempt}` : id);
    }
    if ("worker" in event && event.worker !== undefined) {
      words.push(
        typeof event.worker === "number"
          ? (this.state.fleet.workers[event.worker]?.id ?? "?")
          : event.worker.id,
      );
    }
    if ("outcome" in event) words.push(event.outcome);
    return words.join(" ");
  }
}
