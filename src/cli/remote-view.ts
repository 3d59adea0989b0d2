import type { ServiceEvent, TaskSummary } from "../client/index.ts";
import { compareText, taskIdOf } from "../core/index.ts";
import type { GraphFile } from "../protocol/index.ts";
import { describeNoWinner, SPECULATION_WORDS } from "../words/index.ts";
import {
  createProgress,
  type Progress,
  type ProgressLine,
  type ProgressOutcome,
  type ProgressView,
} from "./progress.ts";
import { formatSpan } from "./progress-line.ts";
import { wantsColor } from "./terminal-text.ts";

type NodeStatus = "waiting" | "ready" | "running" | "completed" | "failed" | "skipped" | "cancelled";

interface NodeState {
  readonly id: string;
  readonly taskId: string;
  readonly estimateMs: number;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  status: NodeStatus;
  /** How many of the nodes that it needs have not completed. */
  missing: number;
  readonly dependents: NodeState[];
  attempt: number;
  /** The last attempt whose end was told; that of one that was lost with its worker is not. */
  endedAttempt: number;
  /** How many were lost that do not count as tries. */
  excused: number;
  worker: string;
  /** On the server's clock. */
  startedAt: number;
  /** On ours, from the beginning of the view. */
  startedAtMs: number;
  error: string;
  /** How each alternative failed last, by its tag; undefined: it has not. */
  readonly failures: Map<string, string | undefined>;
}

const TIMED_OUT = "timed out";
const LOST = "its worker was lost";
const POISON = "three workers were lost while they ran it: it is the likely cause";
const ENDED: ReadonlySet<NodeStatus> = new Set(["completed", "failed", "skipped", "cancelled"]);

/**
 * A run on a server as its user sees it. It is told by events, and by lists of tasks whenever some events may have
 * been missed. Both may overlap, so what is known already says nothing, and what has ended stays so.
 */
export class RemoteView {
  readonly #progress: Progress;
  readonly #name: string;
  readonly #nodes: readonly NodeState[];
  /** Nodes hand results to each other: then a lost worker does not count as a try of what it ran. */
  readonly #hasData: boolean;
  readonly #byTask: ReadonlyMap<string, NodeState>;
  readonly #running = new Set<NodeState>();
  readonly #counts: Record<NodeStatus, number>;
  readonly #began = Date.now();
  #endedMs: number | undefined;
  #cancelling = false;

  constructor(runId: string, graph: GraphFile, { quiet }: { readonly quiet: boolean }) {
    this.#name = graph.name;
    this.#nodes = nodesOf(runId, graph);
    this.#hasData = graph.nodes.some(
      ({ spec: { inputs, keep, task } }) => inputs || keep || task.cache || task.mayAdd,
    );
    this.#byTask = new Map(this.#nodes.map((node) => [node.taskId, node]));
    const ready = this.#nodes.filter(({ status }) => status === "ready").length;
    const waiting = this.#nodes.length - ready;
    this.#counts = { waiting, ready, running: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0 };
    const { stderr, env } = process;
    this.#progress = createProgress(stderr, {
      color: wantsColor(stderr),
      interactive: stderr.isTTY === true && env["TERM"] !== "dumb" && !env["CI"],
      columns: 80,
      rows: 24,
      quiet,
    });
    this.#progress.update(this.#view());
  }

  /** What is still shown of a run that has ended takes no part in how long it took. */
  stopClock(): void {
    this.#endedMs ??= Date.now();
  }

  get elapsedMs(): number {
    return (this.#endedMs ?? Date.now()) - this.#began;
  }

  /** A task that could run while nothing does. */
  get stalled(): string | undefined {
    if (this.#running.size > 0) return undefined;
    return this.#nodes.find(({ status }) => status === "ready")?.taskId;
  }

  has(taskId: string): boolean {
    return this.#byTask.has(taskId);
  }

  output(taskId: string, text: string): void {
    const node = this.#byTask.get(taskId);
    if (node) this.#say("output", node, text);
  }

  note(text: string): void {
    this.#progress.note(`orrery: ${text}`);
  }

  event({ kind, task_id, run_id, at, data }: ServiceEvent): void {
    if (kind === "CancelRequested" && task_id === null) this.#cancelling = true;
    const node = task_id === null ? undefined : this.#byTask.get(task_id);
    const tag = data["alternative"];
    if (node) this.#nodeEvent(node, kind, Date.parse(at), data);
    else if (typeof tag === "string" && run_id !== null)
      this.#alternativeEvent(this.#byTask.get(taskIdOf(run_id, String(data["node"]))), tag, kind, data);
    this.#progress.update(this.#view());
  }

  /** What the server has, where events may have been missed. */
  tasks(tasks: readonly TaskSummary[]): void {
    // What came first is said first: a node starts when what it needs has ended.
    for (const task of tasks.toSorted((a, b) => compareText(lastTime(a), lastTime(b)))) {
      const node = this.#byTask.get(task.id);
      if (node) this.#follow(node, task);
    }
    this.#progress.update(this.#view());
  }

  end(outcome: ProgressOutcome): void {
    this.#progress.end(this.#view(), outcome);
  }

  #nodeEvent(node: NodeState, kind: string, at: number, data: Readonly<Record<string, unknown>>): void {
    switch (kind) {
      case "TaskAssigned":
        this.#start(node, Number(data["attempt"]), String(data["worker"]), at);
        break;
      case "AttemptFinished":
        this.#complete(node, tookText(at - node.startedAt));
        break;
      case "TaskSpeculated":
        this.#start(node, 0, "", at, describeSpeculated(data));
        break;
      case "VoteTaken":
        if (data["winner"] === null) this.#attemptEnded(node, describeNoWinner([...node.failures.values()]));
        else this.#complete(node, `with the result of ${data["winner"]}, by ${data["decided_by"]}`);
        break;
      case "AttemptFailed":
        this.#attemptEnded(node, String(data["message"]));
        break;
      case "AttemptTimedOut":
        this.#attemptEnded(node, TIMED_OUT);
        break;
      case "AttemptLost":
        this.#attemptLost(node);
        break;
      case "TaskRetried":
        if (node.status === "running" && node.endedAttempt < node.attempt) this.#attemptLost(node);
        if (this.#move(node, "ready")) {
          const inMs = Math.max(0, Number(data["due_at"]) - at);
          this.#say("retrying", node, `in ${formatSpan(inMs)} (${whyAgain(node)})`);
        }
        break;
      case "TaskFailed":
        if (node.status === "running" && node.endedAttempt < node.attempt) this.#attemptLost(node);
        if (data["code"] === "poison") node.error = POISON;
        this.#fail(node);
        break;
      case "TaskCancelled":
        if (this.#move(node, "cancelled")) this.#say("cancelled", node, "");
        break;
      case "TasksSkipped":
        this.#skipBehind(node);
        break;
      default:
    }
  }

  #attemptEnded(node: NodeState, error: string): void {
    node.endedAttempt = node.attempt;
    node.error = error;
  }

  #attemptLost(node: NodeState): void {
    this.#attemptEnded(node, LOST);
    if (this.#hasData) node.excused++;
  }

  #follow(node: NodeState, task: TaskSummary): void {
    node.error = task.error_code === "timeout" ? TIMED_OUT : (task.error_message ?? node.error);
    const startedAt = task.started_at === null ? node.startedAt : Date.parse(task.started_at);
    switch (task.status) {
      case "queued":
        return;
      case "running":
        this.#start(node, task.attempt, task.worker_id ?? "", startedAt);
        return;
      case "completed":
        this.#startLate(node, task, startedAt);
        this.#complete(node, tookText(Date.parse(task.completed_at ?? "") - startedAt));
        return;
      case "failed":
        this.#startLate(node, task, startedAt);
        this.#fail(node);
        return;
      case "cancelled": {
        const status = task.error_code === "skipped" ? "skipped" : "cancelled";
        if (this.#move(node, status))
          this.#say(status, node, status === "skipped" ? `because ${node.error}` : "");
      }
    }
  }

  /** What was missed altogether has begun all the same. */
  #startLate(node: NodeState, { attempt, worker_id }: TaskSummary, startedAt: number): void {
    if (attempt > 0 && worker_id !== null && !ENDED.has(node.status))
      this.#start(node, attempt, worker_id, startedAt);
  }

  /** An alternative ends for itself: what becomes of the node is voted on. */
  #alternativeEvent(
    node: NodeState | undefined,
    tag: string,
    kind: string,
    data: Readonly<Record<string, unknown>>,
  ): void {
    if (!node) return;
    const say = (type: ProgressLine["type"], detail: string): void =>
      this.#say(type, { id: `${node.id} ${tag}` }, detail);
    switch (kind) {
      case "TaskAssigned":
        node.failures.set(tag, undefined);
        say("started", `on ${data["worker"]}`);
        break;
      case "AttemptFinished":
        say("finished", "");
        break;
      case "AttemptFailed":
        node.failures.set(tag, String(data["message"]));
        say("failed", String(data["message"]));
        break;
      case "AttemptTimedOut":
        node.failures.set(tag, TIMED_OUT);
        say("timed-out", "");
        break;
      case "TaskCancelled":
        say("cancelled", "");
        break;
      default:
    }
  }

  #start(node: NodeState, attempt: number, worker: string, at: number, how = ""): void {
    if (node.status === "running" && node.attempt === attempt) return;
    node.attempt = attempt;
    node.worker = worker;
    node.startedAt = at;
    node.startedAtMs = this.elapsedMs;
    if (this.#move(node, "running"))
      this.#say(
        "started",
        node,
        `${worker === "" ? how : `on ${worker}`}${attempt > 1 ? ` (attempt ${attempt})` : ""}`,
      );
  }

  #complete(node: NodeState, how: string): void {
    if (!this.#move(node, "completed")) return;
    this.#say("finished", node, how);
    for (const dependent of node.dependents) {
      if (--dependent.missing === 0 && dependent.status === "waiting") this.#move(dependent, "ready");
    }
  }

  #fail(node: NodeState): void {
    if (!this.#move(node, "failed")) return;
    if (node.error === TIMED_OUT) this.#say("timed-out", node, `after ${formatSpan(node.timeoutMs)}`);
    else this.#say("failed", node, node.error);
  }

  #skipBehind(failed: NodeState): void {
    const behind = [...failed.dependents];
    for (let node = behind.pop(); node; node = behind.pop()) {
      if (!this.#move(node, "skipped")) continue;
      this.#say("skipped", node, `because ${failed.id} did not complete`);
      behind.push(...node.dependents);
    }
  }

  /** Whether it was news. */
  #move(node: NodeState, status: NodeStatus): boolean {
    if (node.status === status || ENDED.has(node.status)) return false;
    this.#counts[node.status]--;
    this.#counts[status]++;
    node.status = status;
    if (status === "running") this.#running.add(node);
    else this.#running.delete(node);
    return true;
  }

  #say(type: ProgressLine["type"], node: Pick<NodeState, "id">, detail: string): void {
    this.#progress.line({ type, node: node.id, detail, atMs: Date.now() });
  }

  #view(): ProgressView {
    const { running: _, ...counts } = this.#counts;
    return {
      name: this.#name,
      total: this.#nodes.length,
      ...counts,
      running: Array.from(this.#running, ({ id, worker, attempt, startedAtMs, estimateMs }) => ({
        id,
        worker,
        attempt,
        startedAtMs,
        estimateMs,
      })),
      elapsedMs: this.elapsedMs,
      remainingMs: undefined,
      cancelling: this.#cancelling,
    };
  }
}

function lastTime({ completed_at, started_at }: TaskSummary): string {
  return completed_at ?? started_at ?? "~";
}

function whyAgain({ attempt, excused, maxAttempts, error }: NodeState): string {
  if (error === LOST && excused > 0) return `${LOST}, which does not count as an attempt`;
  return `attempt ${attempt - excused} of ${maxAttempts}: ${error}`;
}

function tookText(ms: number): string {
  return Number.isNaN(ms) ? "" : `in ${formatSpan(Math.max(0, ms))}`;
}

function describeSpeculated({ alternatives, because }: Readonly<Record<string, unknown>>): string {
  const why = Object.entries(SPECULATION_WORDS).find(([cause]) => cause === because)?.[1];
  return `in ${alternatives} alternatives${why === undefined ? "" : ` (${why})`}`;
}

function nodesOf(runId: string, graph: GraphFile): NodeState[] {
  const nodes = graph.nodes.map(
    ({ spec }): NodeState => ({
      id: spec.id,
      taskId: taskIdOf(runId, spec.id),
      estimateMs: spec.task.estimateMs,
      timeoutMs: spec.task.timeoutMs,
      maxAttempts: spec.task.maxAttempts,
      status: spec.needs.length === 0 ? "ready" : "waiting",
      missing: spec.needs.length,
      dependents: [],
      attempt: 0,
      endedAttempt: 0,
      excused: 0,
      worker: "",
      startedAt: Date.now(),
      startedAtMs: 0,
      error: "",
      failures: new Map(),
    }),
  );
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const [at, { spec }] of graph.nodes.entries()) {
    for (const need of spec.needs) byId.get(need)?.dependents.push(nodes[at] as NodeState);
  }
  return nodes;
}
