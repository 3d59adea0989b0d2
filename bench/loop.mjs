// A scheduler with its ledger and nothing else: what is measured. Time is a count of turns, so that a run
// records the same ledger whenever it is repeated.

import { BlockWriter, GENESIS, headOf } from "../dist/ledger/index.js";
import { DEFAULT_CONFIG, State, step } from "../dist/scheduler/index.js";

/** @typedef {import("../dist/ledger/index.js").AttemptFinished} AttemptFinished */
/** @typedef {import("../dist/ledger/index.js").Block} Block */
/** @typedef {import("../dist/ledger/index.js").LedgerEvent} LedgerEvent */
/** @typedef {import("../dist/ledger/index.js").RunSubmitted} RunSubmitted */
/** @typedef {import("../dist/ledger/index.js").SchedulerConfig} SchedulerConfig */
/** @typedef {import("../dist/placement/index.js").WorkerSpec} WorkerSpec */
/** @typedef {import("../dist/scheduler/index.js").Stimulus} Stimulus */
/** @typedef {import("../dist/ledger/index.js").TaskAssigned} TaskAssigned */

export const ZONE = "here";
const EPOCH = 1;

export class Loop {
  state = new State();
  head = GENESIS;
  now = 0;
  /** What is on a worker. @type {TaskAssigned[]} */
  running = [];
  #writer = new BlockWriter();
  /** @type {(block: Block) => void} */
  #onBlock;

  /**
   * @param {Partial<SchedulerConfig>} config
   * @param {readonly WorkerSpec[]} workers
   * @param {(block: Block) => void} onBlock
   */
  constructor(config, workers, onBlock) {
    this.#onBlock = onBlock;
    /** @type {Stimulus[]} */
    const stimuli = [{ kind: "SchedulerConfigured", config: { ...DEFAULT_CONFIG, ...config } }];
    for (const worker of workers) stimuli.push({ kind: "WorkerRegistered", worker });
    this.turn(stimuli);
  }

  /**
   * A turn as the driver takes it: decide, record, encode, seal.
   *
   * @param {readonly Stimulus[]} stimuli
   */
  turn(stimuli) {
    const writer = this.#writer;
    step(this.state, this.now, stimuli, (event) => {
      writer.add(event);
      if (event.kind === "TaskAssigned") this.noteAssigned(event);
    });
    if (writer.count === 0) return;
    const block = writer.seal(this.head, EPOCH, this.now);
    this.head = headOf(block);
    this.#onBlock(block);
  }

  /** @param {TaskAssigned} event */
  noteAssigned(event) {
    this.running.push(event);
  }

  /** Everything that runs has finished: one turn with all of it. */
  finishAll() {
    this.now++;
    const stimuli = this.running.map((assigned) => finished(assigned, this.now));
    this.running = [];
    this.turn(stimuli);
  }
}

/**
 * @param {TaskAssigned} assigned
 * @param {number} now
 * @returns {AttemptFinished}
 */
export function finished({ run, node, attempt }, now) {
  return { kind: "AttemptFinished", run, node, attempt, startedAt: now, resultHash: "", resultBytes: 0 };
}

/**
 * @param {import("../dist/graph/index.js").WireGraph} graph
 * @param {string} [runId]
 * @returns {RunSubmitted}
 */
export function submission(graph, runId = "bench") {
  return {
    kind: "RunSubmitted",
    runId,
    name: "bench",
    agent: "bench",
    zone: ZONE,
    onFailure: "continue",
    graph,
  };
}

/**
 * Workers that run one task at a time and have room for any.
 *
 * @param {number} count
 * @returns {WorkerSpec[]}
 */
export function plainWorkers(count) {
  return Array.from({ length: count }, (_, number) => ({
    id: `worker-${String(number).padStart(4, "0")}`,
    endpoint: "",
    zone: ZONE,
    zones: [],
    executors: ["shell"],
    capabilities: [],
    cpuMillicores: 64_000,
    memoryBytes: 2 ** 40,
    slots: 1,
  }));
}
