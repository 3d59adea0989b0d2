import { Projection } from "../driver/index.ts";
import type { AttemptStarted, LedgerEvent, Report } from "../ledger/index.ts";
import { NO_RUN, REJECTIONS, type TaskKey } from "../placement/index.ts";
import { CLASS_NAMES } from "../queue/index.ts";
import { type State, Status, type Tasks } from "../scheduler/index.ts";
import type { RowChanges, ServiceStore } from "../store/index.ts";
import type { Instruments } from "./http/metrics.ts";
import type { RecentActivity } from "./recent-activity.ts";

/** How an attempt ended, by what was reported. */
const RESULTS = {
  AttemptFinished: "completed",
  AttemptFailed: "failed",
  AttemptTimedOut: "timed_out",
  AttemptLost: "lost",
  AttemptCancelled: "cancelled",
} as const;

/** Who is told how much happens. */
type Followed = Pick<RecentActivity, "tick" | "note" | "waited">;

/** Also times what happens: after its end a task of no run has left the state, so it is looked at before. */
export class MeteredProjection extends Projection {
  readonly #instruments: Instruments | undefined;
  readonly #recent: Followed;
  /** Whether something was noted in this turn. */
  #hasBegun = false;

  constructor(
    store: Pick<ServiceStore, "keyed" | "task">,
    onPayload: (task: TaskKey, payload: string) => void,
    onResult: (task: TaskKey, result: string) => void,
    instruments: Instruments | undefined,
    recent: Followed,
  ) {
    super(store, onPayload, onResult);
    this.#instruments = instruments;
    this.#recent = recent;
  }

  override note(state: State, event: LedgerEvent, now: number, attached: unknown): void {
    if (!this.#hasBegun) this.#recent.tick();
    this.#hasBegun = true;
    this.#measure(state, event, now);
    super.note(state, event, now, attached);
  }

  override take(): RowChanges {
    this.#hasBegun = false;
    return super.take();
  }

  #measure(state: State, event: LedgerEvent, now: number): void {
    switch (event.kind) {
      case "TaskSubmitted":
        this.#submitted(event.zone, 1);
        break;
      case "RunSubmitted":
        this.#submitted(event.zone, event.graph.ids.length);
        break;
      case "TaskSpeculated":
        this.#submitted(state.run(event.run).zone, event.count);
        break;
      case "VoteTaken":
        if (event.winner >= 0) this.#ended(state.run(event.run).zone, "completed", 1);
        break;
      case "SubmissionsRefused":
        this.#instruments?.refused(event.code, event.count);
        break;
      case "TaskAssigned":
        this.#instruments?.assigned(event.reason.type);
        if (this.#instruments) this.#rejected(this.#instruments, event.rejected);
        break;
      case "WorkerLost":
        this.#instruments?.workerLost(event.code);
        break;
      case "AttemptStarted":
        this.#start(state, event, now);
        break;
      case "AttemptFinished":
      case "AttemptFailed":
      case "AttemptTimedOut":
      case "AttemptLost":
      case "AttemptCancelled":
        this.#end(state, event, now);
        break;
      case "TaskFailed":
        this.#ended(state.tasks(event.run).zoneOf(event.node), "failed", 1);
        break;
      case "TaskCancelled":
        this.#ended(state.tasks(event.run).zoneOf(event.node), "cancelled", 1);
        break;
      case "TasksSkipped":
        this.#ended(state.run(event.run).zone, "cancelled", event.nodes.length);
        break;
      default:
    }
  }

  #rejected(instruments: Instruments, counts: readonly number[]): void {
    for (let at = 0; at < counts.length; at++) {
      const count = counts[at] as number;
      if (count > 0) instruments.rejected(REJECTIONS[at] as string, count);
    }
  }

  #submitted(zone: string, count: number): void {
    this.#instruments?.submitted(count);
    this.#recent.note(zone, "submitted", count);
  }

  #ended(zone: string, status: "completed" | "failed" | "cancelled", count: number): void {
    this.#instruments?.ended(status, count);
    this.#recent.note(zone, "ended", count);
  }

  #start(state: State, report: Report, now: number): void {
    const { run, node, attempt } = report;
    const tasks = state.tasks(run);
    const zone = tasks.zoneOf(node);
    this.#recent.note(zone, "started");
    // A later attempt waited for its back-off, or for what the first one did.
    if (attempt - tasks.uncountedOf(node) !== 1) return;
    const waitMs = Math.max(0, beganAt(tasks, report, now) - tasks.readyAtOf(node));
    const at = run === NO_RUN ? state.singles.get(node).class : state.run(run).classOf(node);
    this.#instruments?.started(CLASS_NAMES[at], waitMs);
    this.#recent.waited(zone, waitMs);
  }

  #end(state: State, report: Exclude<Report, AttemptStarted>, now: number): void {
    const { run, node, kind, startedAt } = report;
    const tasks = state.tasks(run);
    if (startedAt >= 0) {
      // One that ended soon is reported as a whole.
      if (tasks.statusOf(node) === Status.assigned) this.#start(state, report, now);
      this.#instruments?.ran(RESULTS[kind], now - beganAt(tasks, report, now));
    }
    if (kind === "AttemptFinished") this.#ended(tasks.zoneOf(node), "completed", 1);
  }
}

/** On the worker's word, as far as that is possible by our own clock: theirs may be wrong. */
function beganAt(tasks: Tasks, { node, startedAt }: Report, now: number): number {
  const assignedAt = tasks.statusOf(node) === Status.assigned ? tasks.sinceOf(node) : startedAt;
  return Math.min(Math.max(startedAt, assignedAt), now);
}
