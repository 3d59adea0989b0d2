/**
 * The one place where codes become sentences. Ids come from outside and are neutralised here, so what these
 * functions return is safe to print.
 */

import type { SpeculationCause } from "../graph/index.ts";
import type { RunOutcome, TaskRecalled } from "../ledger/index.ts";
import type { Needs, Reason, Rejection } from "../placement/index.ts";
import type { InputPlace, RoomBarrier, StatusName, WaitReason } from "../scheduler/index.ts";
import { countOf, formatBytes, formatCores, formatCount, formatMs, formatTime } from "./quantities.ts";
import { neutralise } from "./safe-text.ts";

/** How an attempt ended. */
export type AttemptOutcome = "finished" | "failed" | "timed-out" | "lost" | "returned" | "cancelled" | "open";

/** Why this worker, to follow "because". */
export function describeReason(reason: Reason): string {
  switch (reason.type) {
    case "OnlyWorkerAvailable":
      return "it was the only worker available";
    case "ResourceFit":
      return `it was the only available worker with room (${coresOf(reason.availableCpu)} free, ${formatCores(reason.requiredCpu)} needed)`;
    case "LeastLoaded":
      return `no candidate held fewer tasks (${reason.queueDepth === 0 ? "it held none" : `it held ${formatCount(reason.queueDepth)}`})`;
    case "RoundRobin":
      return `it was next in turn (number ${formatCount(reason.index + 1)} by id)`;
    case "Random":
      return `it drew the highest score for this node (${formatCount(reason.hash)})`;
    case "Affinity":
      return AFFINITY[reason.because];
    case "DataAffinity": {
      const { heldBytes, movedBytes, waitMicros, leadMicros } = reason;
      const moved =
        movedBytes === 0 ? "nothing has to be brought" : `${formatBytes(movedBytes)} have to be brought`;
      const wait = waitMicros === 0 ? "" : `, and a wait of ${formatMs(Math.ceil(waitMicros / 1000))}`;
      return `it holds ${formatBytes(heldBytes)} of the inputs and ${moved}${wait}: better than the next by ${formatMs(Math.ceil(leadMicros / 1000))}`;
    }
  }
}

/** Why a worker was asked to give a task back, to follow "because". */
export function describeRecall(
  { waitMicros, queueMicros, moveMicros }: Pick<TaskRecalled, "waitMicros" | "queueMicros" | "moveMicros">,
  idle: string,
): string {
  const ms = (micros: number) => formatMs(Math.floor(micros / 1000));
  const costs = [
    ...(queueMicros > 0 ? [`${ms(queueMicros)} behind others`] : []),
    ...(moveMicros > 0 ? [`${ms(moveMicros)} to bring its inputs`] : []),
  ];
  const there = costs.length === 0 ? "" : ` against ${costs.join(" and ")}`;
  return `${neutralise(idle)} stood idle, and it was expected to wait for ${ms(waitMicros)}${there}`;
}

const AFFINITY: Record<Extract<Reason, { type: "Affinity" }>["because"], string> = {
  DataLocality: "it holds more of the data that the task reads",
  PreviouslyExecuted: "it has completed tasks of this type before",
  SameZone: "its home is the task's zone",
  Follows: "it is making the last of the inputs",
  SharedConsumer: "it makes what is used together with the result",
};

/** What set the chosen worker apart from the runner-up. */
export type Criterion =
  | "only candidate"
  | "input data"
  | "type completed before"
  | "home zone"
  | "queue depth"
  | "turn"
  | "score"
  | "where data is"
  | "making the input"
  | "making its like"
  | "worker id";

export interface Decider {
  readonly criterion: Criterion;
  /** The value of the chosen worker and of the runner-up, where they are numbers. */
  readonly chosen: number | null;
  readonly runnerUp: number | null;
  /** What was equal before the id decided. */
  readonly tiedOn: Criterion | null;
}

export function describeDecider(decider: Decider): string {
  const { chosen, runnerUp } = decider;
  switch (decider.criterion) {
    case "only candidate":
      return "there was no other candidate";
    case "input data":
      return `input data held (${formatBytes(chosen ?? 0)} against ${formatBytes(runnerUp ?? 0)})`;
    case "type completed before":
      return "having completed this type of task, which the runner-up had not";
    case "home zone":
      return "being at home in the task's zone, which the runner-up is not";
    case "queue depth":
      return `tasks held (${formatCount(chosen ?? 0)} against ${formatCount(runnerUp ?? 0)})`;
    case "turn":
      return "the turn, which goes by worker id";
    case "score":
      return `the score (${formatCount(chosen ?? 0)} against ${formatCount(runnerUp ?? 0)})`;
    case "where data is":
      return chosen === runnerUp
        ? "the tie-break: where the data is speaks for both alike, and the smaller id goes first"
        : `where the data is: what it has, less what it lacks and would wait for (${signedMs(chosen)} against ${signedMs(runnerUp)})`;
    case "making the input":
      return "making its last input, so that it can begin there without asking";
    case "making its like":
      return "making other results that are used together with this one";
    case "worker id":
      return decider.tiedOn === "queue depth"
        ? `the tie-break: ${chosen ? `both held ${countOf(chosen, "task")}` : "neither held a task"}, and the smaller id goes first`
        : "the tie-break: both scored the same, and the smaller id goes first";
  }
}

function signedMs(micros: number | null): string {
  const ms = formatMs(Math.ceil(Math.abs(micros ?? 0) / 1000));
  return (micros ?? 0) < 0 ? `-${ms}` : ms;
}

/** "parse, 2.9 MiB on gpu-1 and gpu-2": where a result is that a node gets. */
export function describeInput({ node, bytes, at, workers }: InputPlace): string {
  const name = neutralise(node);
  if (at === "nowhere") return `${name}, which is not there yet`;
  const where = at === "task" ? "with its task" : `on ${workers.map(neutralise).join(" and ")}`;
  return `${name}, ${formatBytes(bytes)} ${where}`;
}

/** "1 core, 64 MiB, executor shell, zone eu, cuda". */
export function describeNeeds(needs: Needs): string {
  const { cpuMillicores, memoryBytes, executor, zone, capabilities, io } = needs;
  const memory = memoryBytes > 0 ? [formatBytes(memoryBytes)] : [];
  const words = [coresOf(cpuMillicores), ...memory, `executor ${executor}`, `zone ${zone}`, ...capabilities];
  if (io) words.push("mostly waits");
  return words.map(neutralise).join(", ");
}

/** What is known about a rejection besides its code. */
export interface RejectionFacts {
  readonly needs: Needs;
  readonly queueDepth: number;
  readonly missing: readonly string[];
  readonly reservedFor: string | null;
}

/** Why a worker was rejected, to follow "rejected:". */
export function describeRejection(code: Rejection, facts: RejectionFacts): string {
  const { needs } = facts;
  switch (code) {
    case "executor":
      return `does not serve executor ${neutralise(needs.executor)}`;
    case "zone":
      return `not for zone ${neutralise(needs.zone)}`;
    case "capability":
      return `lacks ${facts.missing.map(neutralise).join(", ")}`;
    case "unreachable":
      return "lost";
    case "draining":
      return "draining";
    case "overloaded":
      return "overloaded";
    case "queue":
      return `full, holds ${countOf(facts.queueDepth, "task")}`;
    case "reserved":
      return `kept free for ${facts.reservedFor === null ? "another task" : neutralise(facts.reservedFor)}`;
    case "cpu":
      return "too little cpu";
    case "memory":
      return "too little memory";
    case "returned":
      return "has just given it back";
  }
}

const REJECTED_WORKERS: Record<Rejection, (count: number) => string> = {
  executor: (count) => `${verb(count, "does", "do")} not serve its executor`,
  zone: (count) => `${verb(count, "is", "are")} not for its zone`,
  capability: (count) => `${verb(count, "lacks", "lack")} a capability`,
  unreachable: (count) => `${verb(count, "is", "are")} lost`,
  draining: (count) => `${verb(count, "is", "are")} draining`,
  overloaded: (count) => `${verb(count, "is", "are")} overloaded`,
  queue: (count) => `${verb(count, "is", "are")} full`,
  reserved: (count) => `${verb(count, "is", "are")} kept free for other tasks`,
  cpu: (count) => `${verb(count, "has", "have")} too little cpu`,
  memory: (count) => `${verb(count, "has", "have")} too little memory`,
  returned: (count) => `${verb(count, "has", "have")} just given it back`,
};

function verb(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** "2 have too little cpu, 1 is draining". */
export function describeRejected(rejected: Readonly<Partial<Record<Rejection, number>>>): string {
  return (Object.entries(rejected) as [Rejection, number][])
    .filter(([, count]) => count > 0)
    .map(([code, count]) => `${formatCount(count)} ${REJECTED_WORKERS[code](count)}`)
    .join(", ");
}

/** Why a task does not run yet, as a sentence. `now` is the time that the question is about. */
export function describeWait(reason: WaitReason, now: number): string {
  switch (reason.code) {
    case "Unsatisfiable":
      if (reason.exceeds) return describeExceeded(reason.exceeds);
      return reason.workers === 0
        ? "No worker has registered yet."
        : `No worker known could ever run it: of ${countOf(reason.workers, "worker")}, ${describeRejected(reason.rejected)}.`;
    case "Held":
      return HELD_WORDS[reason.by];
    case "NotDue":
      return `Attempt ${reason.attempt} is due in ${formatMs(Math.max(0, reason.dueAt - now))}, at ${formatTime(reason.dueAt)}.`;
    case "Dependencies":
      return `It needs ${countOf(reason.total, "node")} that ${verb(reason.total, "has", "have")} not completed: ${listDependencies(reason)}.`;
    case "Admission":
      return reason.barriers.map((barrier) => describeBarrier(barrier, now)).join(" ");
    case "Capacity":
      return `No worker has room for it now: ${describeRejected(reason.rejected)}.${
        reason.reservedWorker === undefined
          ? ""
          : ` ${neutralise(reason.reservedWorker)} is kept free for it.`
      }`;
    case "Outranked":
      return `${reason.isAbout ? "About " : ""}${countOf(reason.ahead, "ready task")} ${verb(reason.ahead, "goes", "go")} before it, first ${neutralise(reason.next.node ?? reason.next.id)}${reason.next.because ? `, ${PRECEDENCE_WORDS[reason.next.because]}` : ""}.`;
    case "Pending":
      return "Nothing holds it up: the next turn places it.";
  }
}

function describeExceeded({ limit, needed, max }: RoomBarrier): string {
  return `It counts ${formatCount(needed)} towards the limit ${neutralise(limit)}, which is ${formatCount(max)} in all: raise the limit, or make it need less.`;
}

const PRECEDENCE_WORDS = {
  starved: "which has waited too long",
  "critical-path": "which is on the critical path",
  priority: "which has a higher priority",
  risk: "which has a higher risk",
  "holds-up": "which holds up more work",
  age: "which has been ready for longer",
  submitted: "which was submitted before",
} as const;

const HELD_WORDS = {
  person: "It is held until a person releases it.",
  draining: "Every worker that could run it is draining.",
  paused: "Its queue is paused.",
} as const;

function describeBarrier(
  barrier: Extract<WaitReason, { code: "Admission" }>["barriers"][number],
  now: number,
): string {
  switch (barrier.by) {
    case "fair-share":
      return `Its agent already runs ${barrier.running} of ${barrier.max} tasks.`;
    case "concurrency":
      return `The limit ${neutralise(barrier.limit)} is reached: ${formatCount(barrier.running)} of ${formatCount(barrier.max)} in use${barrier.needed > 1 ? `, and it needs ${formatCount(barrier.needed)}` : ""}${barrier.kept > 0 ? `; ${formatCount(barrier.kept)} are kept for a task that has waited for longer` : ""}.`;
    case "rate":
      return `The rate of ${neutralise(barrier.limit)} is used up for ${formatMs(Math.max(0, barrier.nextAt - now))}.`;
  }
}

function listDependencies({ open, total }: Extract<WaitReason, { code: "Dependencies" }>): string {
  const listed = open.map(({ node, status }) => `${neutralise(node)} (${STATUS_WORDS[status]})`);
  if (total > open.length) listed.push(`and ${formatCount(total - open.length)} more`);
  return listed.join(", ");
}

/** Why a node is tried in several alternatives at once. */
export const SPECULATION_WORDS: Record<SpeculationCause, string> = {
  asked: "it asks for it",
  forced: "force_speculate",
  "risk-on-critical-path": "risky, and on the critical path",
};

/** Why no alternative of a node was taken, by how each of them failed; undefined: it did not. */
export function describeNoWinner(failures: readonly (string | undefined)[]): string {
  const said = [...new Set(failures.filter((failure) => failure !== undefined))];
  const failed = failures.filter((failure) => failure !== undefined).length;
  if (failed > 0 && failed === failures.length)
    return `all ${formatCount(failed)} alternatives failed: ${said.join("; ")}`;
  const how = failed === 0 ? "" : ` (${formatCount(failed)} failed: ${said.join("; ")})`;
  return `none of its alternatives is good enough: a person has to look${how}`;
}

export const STATUS_WORDS: Record<StatusName, string> = {
  waiting: "waiting",
  held: "held",
  ready: "ready",
  delayed: "waiting to retry",
  assigned: "assigned",
  running: "running",
  cancelling: "being cancelled",
  settling: "being decided",
  settlingCancel: "being cancelled",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
  skipped: "skipped",
  speculating: "tried in several alternatives",
  expanded: "expanded into a run",
};

export const OUTCOME_WORDS: Record<RunOutcome, string> = {
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
};

/** How an attempt ended, with what it said where it failed. */
export function describeEnd(
  outcome: AttemptOutcome,
  error: { code: string; message: string } | null,
): string {
  const said =
    error === null ? "" : `: ${neutralise([error.code, error.message].filter(Boolean).join(": "))}`;
  return `${ATTEMPT_WORDS[outcome]}${said}`;
}

const ATTEMPT_WORDS: Record<AttemptOutcome, string> = {
  finished: "finished",
  failed: "failed",
  "timed-out": "ran longer than its time limit",
  lost: "was lost with its worker",
  returned: "was given back before it began",
  cancelled: "was cancelled",
  open: "has not ended",
};

function coresOf(millicores: number): string {
  return `${formatCores(millicores)} ${millicores === 1_000 ? "core" : "cores"}`;
}
