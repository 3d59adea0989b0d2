import { canonicalJson, derivedUuid, sha256Hex } from "../core/index.ts";
import type { LedgerEvent, SchedulerConfig, TaskAssigned } from "../ledger/index.ts";
import type { Recorded } from "./replay.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import type { Tasks } from "./tasks.ts";

/** The full record of an event, as specified; the ledger keeps only what it cannot be derived from. */
export interface EventRecord {
  readonly eventId: string;
  readonly runId: string | null;
  readonly nodeId: string | null;
  readonly parentEventId: string | null;
  readonly logicalTime: number;
  readonly kind: LedgerEvent["kind"];
  readonly payload: unknown;
  readonly payloadHash: string;
  readonly priorStateHash: string;
  readonly postStateHash: string;
  readonly capabilityCheckResult: CapabilityCheck | null;
  readonly policyDecisionId: string | null;
  readonly toolRequestHash: string | null;
  readonly toolResponseHash: string | null;
  readonly errorData: { readonly code: string; readonly message: string } | null;
  /** Wall clock, milliseconds. */
  readonly time: number;
}

export interface CapabilityCheck {
  readonly required: readonly string[];
  readonly held: readonly string[];
  readonly missing: readonly string[];
}

/** Renders an event, in the state before it. `ledgerId` is the hash of the first block. */
export function renderRecord(state: State, recorded: Recorded, ledgerId: string): EventRecord {
  const { event, seq, now, block } = recorded;
  const run = "run" in event ? state.runs.get(event.run) : undefined;
  const task = taskOf(state, event);
  const payload = payloadOf(state, event, task, seq);
  const parent = parentSeq(state, event, run, task);
  return {
    eventId: eventIdOf(ledgerId, seq),
    runId: run?.id ?? (event.kind === "RunSubmitted" ? event.runId : null),
    nodeId: run && task ? run.graph.idOf(task.node) : null,
    parentEventId: parent > 0 ? eventIdOf(ledgerId, parent) : null,
    logicalTime: seq,
    kind: event.kind,
    payload,
    payloadHash: sha256Hex(canonicalJson(payload)),
    priorStateHash: block.prev,
    postStateHash: block.hash,
    capabilityCheckResult: event.kind === "TaskAssigned" && task ? capabilityCheck(state, event, task) : null,
    policyDecisionId: policyDecisionId(state, event),
    toolRequestHash: task ? task.tasks.requestHashOf(task.node) || null : null,
    toolResponseHash: event.kind === "AttemptFinished" ? event.resultHash || null : null,
    errorData: errorOf(event),
    time: now,
  };
}

/** The task that an event is about, while the state has it. */
interface OfTask {
  readonly tasks: Tasks;
  readonly node: number;
  /** The node's id in its graph; undefined for a task of no run. */
  readonly nodeId: string | undefined;
}

function taskOf(state: State, event: LedgerEvent): OfTask | undefined {
  if (!("run" in event && "node" in event)) return undefined;
  const tasks = state.tasksAt(event.run);
  if (!tasks?.has(event.node)) return undefined;
  return { tasks, node: event.node, nodeId: state.runs.get(event.run)?.graph.idOf(event.node) };
}

function eventIdOf(ledgerId: string, seq: number): string {
  return derivedUuid(`orrery event\n${ledgerId}\n${seq}`);
}

/** The event that caused it: the last about the node, else about the run, else about the worker. */
function parentSeq(state: State, event: LedgerEvent, run: Run | undefined, task: OfTask | undefined): number {
  if (task) return task.tasks.lastSeqOf(task.node);
  if (run) return run.lastEventSeq;
  return "worker" in event && typeof event.worker === "number" ? state.worker(event.worker).registeredSeq : 0;
}

function payloadOf(state: State, event: LedgerEvent, task: OfTask | undefined, seq: number): unknown {
  if (!("run" in event) || !state.tasksAt(event.run)) return withoutKind(state, event);
  const named = task
    ? {
        taskId: task.tasks.taskIdOf(task.node),
        ...(task.nodeId === undefined ? {} : { nodeId: task.nodeId }),
      }
    : {};
  if (event.kind !== "TaskAssigned") {
    const { run: _, node: __, ...rest } = withoutKind(state, event);
    return { ...named, ...rest, ...namedNodes(state, event), ...namedTransfers(state, event) };
  }
  const workerId = state.worker(event.worker).id;
  return {
    ...named,
    workerId,
    assignedAt: seq,
    attempt: event.attempt,
    reasoning: { ...event.reason, workerId },
    runnerUp: state.fleet.workers[event.runnerUp]?.id ?? null,
    rejected: event.rejected,
  };
}

function namedNodes(state: State, event: LedgerEvent): { readonly nodes?: readonly string[] } {
  if (!("nodes" in event)) return {};
  const { graph } = state.run(event.run);
  return { nodes: event.nodes.map((node) => graph.idOf(node)) };
}

function namedTransfers(state: State, event: LedgerEvent): { readonly transfers?: readonly unknown[] } {
  if (event.kind !== "AttemptFinished" || !event.transfers) return {};
  const graph = state.runs.get(event.run)?.graph;
  const transfers = event.transfers.map(([node, from, beganMs, tookMicros]) => {
    return { nodeId: graph?.idOf(node), from: state.worker(from).id, beganMs, tookMicros };
  });
  return { transfers };
}

function withoutKind(state: State, event: LedgerEvent): Record<string, unknown> {
  const { kind: _, ...rest } = event as LedgerEvent & Record<string, unknown>;
  const named = event.kind === "TaskRecalled" ? { ...rest, idle: state.worker(event.idle).id } : rest;
  return typeof rest["worker"] === "number" ? { ...named, worker: state.worker(rest["worker"]).id } : named;
}

function capabilityCheck(state: State, event: TaskAssigned, { tasks, node }: OfTask): CapabilityCheck {
  const required = tasks.taskOf(node).capabilities;
  const held = state.worker(event.worker).spec.capabilities;
  return { required, held, missing: required.filter((capability) => !held.includes(capability)) };
}

/** The rule that decided, under the version of the rules and of the configuration. */
function policyDecisionId(state: State, event: LedgerEvent): string | null {
  const rule = event.kind === "TaskAssigned" ? `place/${event.reason.type}` : RULES[event.kind];
  if (rule === undefined) return null;
  return `${rule}@policy-${state.config.policyVersion}+config-${configVersion(state.config)}`;
}

/** Hashed once for each configuration, not once for each record. */
const CONFIG_VERSIONS = new WeakMap<SchedulerConfig, string>();

function configVersion(config: SchedulerConfig): string {
  let version = CONFIG_VERSIONS.get(config);
  if (version === undefined) {
    version = sha256Hex(canonicalJson(config)).slice(0, 12);
    CONFIG_VERSIONS.set(config, version);
  }
  return version;
}

const RULES: Partial<Record<LedgerEvent["kind"], string>> = {
  TaskSpeculated: "speculate/start",
  VoteTaken: "speculate/vote",
  TaskRetried: "attempts/retry",
  TaskFailed: "attempts/exhausted",
  TaskCancelled: "cancel/waiting",
  CancelSignalled: "cancel/placed",
  TasksSkipped: "dependencies/failed",
  TaskReused: "data/reuse",
  ExpansionEnded: "data/expand",
  TasksWithdrawn: "data/withdraw",
  TaskRecalled: "place/recall",
  ChunksFreed: "data/free",
  CacheEvicted: "data/evict",
  NodesRecomputed: "data/recompute",
  ReservationMade: "place/reserve",
  RoomReserved: "admit/reserve",
  RunEnded: "run/end",
  ReportRefused: "attempts/fence",
  SubmissionsRefused: "admission/refuse",
};

function errorOf(event: LedgerEvent): EventRecord["errorData"] {
  switch (event.kind) {
    case "AttemptFailed":
      return { code: event.code, message: event.message };
    case "AttemptTimedOut":
      return { code: "timeout", message: "the attempt ran longer than its time limit" };
    case "AttemptLost":
      return { code: "lost", message: "the worker no longer knows of the attempt" };
    case "ReportRefused":
      return {
        code: event.code,
        message: `a report (${event.report}) of attempt ${event.attempt} was refused`,
      };
    default:
      return null;
  }
}
