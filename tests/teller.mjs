// Tells stories to a scheduler, event by event, and keeps its ledger. Plain JavaScript, so that any Node can run it.

/**
 * @typedef {{
 *   core: typeof import("../src/core/index.ts"),
 *   graph: typeof import("../src/graph/index.ts"),
 *   ledger: typeof import("../src/ledger/index.ts"),
 *   scheduler: typeof import("../src/scheduler/index.ts"),
 * }} Parts
 * @typedef {import("../src/scheduler/index.ts").Stimulus} Stimulus
 * @typedef {import("../src/scheduler/index.ts").Run} Run
 * @typedef {import("../src/ledger/index.ts").SchedulerConfig} SchedulerConfig
 * @typedef {import("../src/ledger/index.ts").Head} Head
 * @typedef {import("../src/ledger/index.ts").TaskSubmitted} TaskSubmitted
 * @typedef {import("../src/ledger/index.ts").RunSubmitted} RunSubmitted
 * @typedef {import("../src/ledger/index.ts").AttemptFinished} AttemptFinished
 * @typedef {import("../src/graph/index.ts").NodeSpec} NodeSpec
 * @typedef {import("../src/graph/index.ts").TaskSpec} TaskSpec
 * @typedef {import("../src/placement/index.ts").WorkerSpec} WorkerSpec
 * @typedef {Partial<TaskSpec> & Partial<Pick<NodeSpec, "needs" | "inputs" | "keep" | "requestHash" | "done">>} NodeOptions
 */

/** Tells a story to a scheduler and keeps its ledger. */
export class Teller {
  /** @param {Parts} parts @param {Partial<SchedulerConfig>} config */
  constructor(parts, config) {
    this.parts = parts;
    this.state = new parts.scheduler.State();
    this.now = 1_700_000_000_000;
    /** @type {Head} */
    this.head = parts.ledger.GENESIS;
    /** @type {string[]} */
    this.lines = [];
    this.configure(config);
  }

  /** @param {Partial<SchedulerConfig>} config */
  configure(config) {
    const base = this.state.seq === 0 ? this.parts.scheduler.DEFAULT_CONFIG : this.state.config;
    this.turn(0, { kind: "SchedulerConfigured", config: { ...base, ...config } });
  }

  /** @param {number} waitMs @param {Stimulus[]} stimuli */
  turn(waitMs, ...stimuli) {
    this.now += waitMs;
    const writer = new this.parts.ledger.BlockWriter();
    this.parts.scheduler.step(this.state, this.now, stimuli, (event) => writer.add(event));
    if (writer.count === 0) return;
    const block = writer.seal(this.head, 1, this.now);
    this.head = this.parts.ledger.headOf(block);
    this.lines.push(block.line);
  }

  /** @param {string} runId @param {NodeSpec[]} nodes @param {{ agent?: string, zone?: string, onFailure?: "cancel" }} [options] @returns {RunSubmitted} */
  submission(runId, nodes, options = {}) {
    const { agent = "ann", zone = "here", onFailure = "continue" } = options;
    const graph = this.parts.graph.wireGraph(nodes);
    return { kind: "RunSubmitted", runId, name: runId, agent, zone, onFailure, graph };
  }

  /** @param {string} runId */
  run(runId) {
    return /** @type {Run} */ (this.state.runById(runId));
  }

  /** The current attempt of a node. @param {string} runId @param {string} nodeId */
  attempt(runId, nodeId) {
    const run = this.run(runId);
    const node = run.graph.indexOf(nodeId) ?? -1;
    return { run: run.number, node, attempt: run.attempt[node] ?? 0, startedAt: this.now };
  }

  /** @param {string} runId @param {string} nodeId @param {number} [resultBytes] @returns {AttemptFinished} */
  finished(runId, nodeId, resultBytes = 0) {
    const resultHash = resultBytes > 0 ? this.parts.core.sha256Hex(nodeId) : "";
    return { kind: "AttemptFinished", ...this.attempt(runId, nodeId), resultHash, resultBytes };
  }

  /** A task of no run. @param {string} id @param {NodeOptions} [options] @param {Partial<TaskSubmitted>} [more] @returns {TaskSubmitted} */
  task(id, options = {}, more = {}) {
    return {
      ...{ kind: "TaskSubmitted", id, agent: "ann", zone: "here" },
      spec: this.parts.graph.wireSpec(aNode(id, options).task),
      ...{ requestState: "pending", boostMicros: 0, deadline: -1, runAt: -1, requestHash: "", attempts: 0 },
      ...more,
    };
  }

  /** The current attempt of a task of no run. @param {string} id */
  attemptAt(id) {
    const single = this.state.singles.byId(id);
    return { run: -1, node: single?.number ?? -1, attempt: single?.attempt ?? 0, startedAt: this.now };
  }

  /** @param {string} id @param {number} [costMicros] @returns {Stimulus} */
  ended(id, costMicros = 0) {
    return { kind: "AttemptFinished", ...this.attemptAt(id), resultHash: "", resultBytes: 0, costMicros };
  }

  told() {
    return { lines: this.lines, head: this.head, stateHash: this.parts.scheduler.stateHash(this.state) };
  }
}

/** @param {string} id @param {NodeOptions} [options] @returns {NodeSpec} */
export function aNode(id, { inputs, keep, requestHash = "", done = false, ...rest } = {}) {
  const { needs = inputs ?? [], ...task } = rest;
  return {
    ...{ id, needs, requestHash, done, ...(inputs && { inputs }), ...(keep && { keep }) },
    task: {
      ...{ type: "command", executor: "shell", cpuMillicores: 100, memoryBytes: 100, estimateMs: 1_000 },
      ...{
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
      },
      ...task,
    },
  };
}

/** @param {string} id @param {Partial<WorkerSpec>} [options] @returns {Stimulus} */
export function joins(id, options = {}) {
  return {
    kind: "WorkerRegistered",
    worker: {
      ...{ id, endpoint: "", zone: "here", zones: [], executors: ["shell"], capabilities: [] },
      ...{ cpuMillicores: 1_000, memoryBytes: 1_000, slots: 1 },
      ...options,
    },
  };
}
