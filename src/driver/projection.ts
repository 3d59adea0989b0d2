import { alternativeIdOf } from "../core/index.ts";
import { speculationTag } from "../graph/index.ts";
import type {
  AttemptFinished,
  ExpansionEnded,
  Input,
  LedgerEvent,
  RunSubmitted,
  TaskReused,
  TaskSpeculated,
  TaskSubmitted,
  VoteTaken,
} from "../ledger/index.ts";
import { NO_RUN, type TaskKey, taskKey } from "../placement/index.ts";
import { chargeOf, type Run, type Speculated, type State, Status } from "../scheduler/index.ts";
import {
  type AlternativeTask,
  type AuditRow,
  type ChosenTask,
  type KeyedTask,
  type ProgressedTask,
  QUEUED,
  type RowChanges,
  type RunRow,
  type ServiceStore,
  type SubmittedTask,
  type TaskProgress,
  type Usage,
} from "../store/index.ts";
import { aboutOf } from "./about.ts";
import type { Attachment, Fact } from "./attachment.ts";
import { contentOf, runRow } from "./content.ts";
import type { Recorder } from "./driver-options.ts";
import { Repeats } from "./repeats.ts";
import type { Repeat } from "./request.ts";
import { errorOfAttempt, errorOfSkipped, errorOfTask, LOST } from "./task-errors.ts";
import { alternativeRow, nodeRow, singleRow } from "./task-rows.ts";

type TaskEvent = Extract<LedgerEvent, { readonly run: number; readonly node: number }>;

/**
 * Follows the events of a turn and says what they change in the rows, and whom they are about. Rows follow from
 * the ledger alone, but for what is attached; so replaying a ledger through this gives the same rows.
 */
export class Projection implements Recorder {
  readonly #repeats: Repeats;
  #submitted = new Map<string, { task: SubmittedTask; progress: TaskProgress }>();
  #alternatives: AlternativeTask[] = [];
  #progressed = new Map<string, ProgressedTask>();
  #chosen: ChosenTask[] = [];
  #usages: Usage[] = [];
  #keys: KeyedTask[] = [];
  #runs = new Map<string, RunRow>();
  #runsEnded = new Map<string, { id: string; outcome: RunRow["outcome"]; endedAt: number }>();
  /** How the attempts that are being settled ended. */
  #endings = new Map<string, Pick<TaskProgress, "startedAt" | "errorCode" | "errorMessage" | "costMicros">>();
  #audits: AuditRow[] = [];
  #facts: Fact[] = [];
  /** The event after which it follows all: what was written of tasks that came before is not known. */
  #since: number | undefined;
  /** Open tasks that were put back into the queue: there are rows of how they ended before. */
  readonly #requeued = new Set<string>();

  readonly #onPayload: (task: TaskKey, payload: string) => void;
  /** Told of the results that other nodes may get. */
  readonly #onResult: (task: TaskKey, result: string) => void;

  constructor(
    store: Pick<ServiceStore, "keyed" | "task">,
    onPayload: (task: TaskKey, payload: string) => void = () => {},
    onResult: (task: TaskKey, result: string) => void = () => {},
  ) {
    this.#repeats = new Repeats(store);
    this.#onPayload = onPayload;
    this.#onResult = onResult;
  }

  async repeats(attached: readonly unknown[]): Promise<readonly (Repeat | undefined)[]> {
    return await this.#repeats.among(attached as readonly (Attachment | undefined)[]);
  }

  weigh(attached: unknown): number {
    const one = attached as Attachment;
    switch (one.type) {
      case "task":
        return one.payload.length + one.settings.length;
      case "run":
        return one.payloads.reduce((sum, payload) => sum + payload.length, 0);
      case "result":
        return one.result.length;
      case "audit":
        return one.row.before.length + one.row.detail.length;
      case "requeue":
        return 0;
    }
  }

  /** Rows and facts are in the time of day. */
  note(state: State, event: LedgerEvent, ledgerNow: number, attached: unknown): void {
    const now = state.timeOfDay(ledgerNow);
    const seq = state.seq + 1;
    this.#since ??= state.seq;
    this.#facts.push({ seq, now, event, about: aboutOf(state, event) });
    switch (event.kind) {
      case "TaskSubmitted":
        this.#submitTask(state, event, now, seq, attached as Attachment | undefined);
        break;
      case "RunSubmitted":
        this.#submitRun(state.nextRun, event, now, seq, attached as Attachment | undefined);
        break;
      case "TaskSpeculated":
        this.#speculate(state.run(event.run), event, now, seq);
        break;
      case "VoteTaken":
        if (event.winner >= 0) this.#choose(state, event, now, seq);
        break;
      case "RunEnded":
        this.#endRun(state.run(event.run).id, event.outcome, now);
        break;
      case "TaskReused":
        this.#reuse(state, event, now, seq);
        break;
      case "ExpansionEnded":
        this.#takeTail(state, event, now, seq);
        break;
      case "NodesRecomputed":
      case "TasksWithdrawn":
        for (const node of event.nodes)
          this.#move(state, event.run, node, {
            ...QUEUED,
            attempt: state.run(event.run).attemptOf(node),
            seq,
          });
        break;
      case "TasksSkipped":
        for (const node of event.nodes) {
          const progress = this.#progress(state, { ...event, node }, now, seq);
          const error = errorOfSkipped(state.run(event.run).graph.idOf(event.node));
          this.#move(state, event.run, node, { ...progress, ...error, status: "cancelled" });
        }
        break;
      case "AuditRecorded": {
        const brought = attached as Attachment | undefined;
        if (brought?.type === "audit") this.#audits.push({ ...brought.row, seq });
        break;
      }
      default:
        if ("run" in event && "node" in event && event.node >= 0)
          this.#noteTask(state, event, now, seq, attached);
    }
  }

  contentOf(state: State, input: Input, attached: unknown, now: number): RowChanges | undefined {
    return contentOf(state, input, attached as Attachment | undefined, now);
  }

  reset(): void {
    this.take();
    this.takeFacts();
    this.#repeats.reset();
    this.#requeued.clear();
    this.#since = undefined;
  }

  take(): RowChanges {
    const changes = this.takeSoFar();
    this.#endings.clear();
    return changes;
  }

  /** What changed since it was last taken, in the middle of a turn. */
  takeSoFar(): RowChanges {
    const changes: RowChanges = {
      submitted: [...this.#submitted.values()],
      alternatives: this.#alternatives,
      progressed: [...this.#progressed.values()],
      chosen: this.#chosen,
      usages: this.#usages,
      keys: this.#keys,
      runs: [...this.#runs.values()],
      runsEnded: [...this.#runsEnded.values()],
      ...(this.#audits.length > 0 && { audits: this.#audits }),
    };
    if (this.#audits.length > 0) this.#audits = [];
    this.#submitted = new Map();
    this.#alternatives = [];
    this.#progressed = new Map();
    this.#chosen = [];
    this.#usages = [];
    this.#keys = [];
    this.#runs = new Map();
    this.#runsEnded = new Map();
    return changes;
  }

  /** The events of the turn that was taken last, in their order. */
  takeFacts(): readonly Fact[] {
    const facts = this.#facts;
    this.#facts = [];
    return facts;
  }

  #noteTask(state: State, event: TaskEvent, now: number, seq: number, attached: unknown): void {
    const { run, node } = event;
    if ("used" in event && event.used) this.#use(state, event, event.used);
    const progress = () => this.#progress(state, event, now, seq);
    switch (event.kind) {
      case "AttemptStarted":
        this.#move(state, run, node, {
          ...progress(),
          status: "running",
          startedAt: state.timeOfDay(event.startedAt),
          endedAt: -1,
        });
        break;
      case "AttemptFinished":
        this.#finish(state, event, now, seq, attached as Attachment | undefined);
        break;
      case "AttemptFailed":
      case "AttemptTimedOut":
      case "AttemptLost":
      case "AttemptCancelled":
        this.#endings.set(keyOf(run, node), {
          startedAt: state.timeOfDay(event.startedAt),
          costMicros: event.kind === "AttemptFailed" ? (event.costMicros ?? 0) : 0,
          ...errorOfAttempt(event),
        });
        break;
      case "TaskRetried":
        this.#move(state, run, node, { ...progress(), status: "queued", startedAt: -1, endedAt: -1 });
        // What becomes of it later in this turn is no end of that attempt.
        this.#endings.delete(keyOf(run, node));
        break;
      case "TaskFailed":
        this.#move(state, run, node, { ...progress(), ...errorOfTask(event), status: "failed" });
        break;
      case "TaskCancelled":
        this.#move(state, run, node, { ...progress(), status: "cancelled" });
        break;
      default:
    }
  }

  #use(state: State, { run, node }: { run: number; node: number }, used: readonly number[]): void {
    const recharged = chargeOf(state, taskKey(run, node)).amounts;
    this.#usages.push({ id: state.tasks(run).taskIdOf(node), used, recharged });
  }

  #finish(
    state: State,
    { run, node, attempt, startedAt, resultHash, costMicros = 0 }: AttemptFinished,
    endedAt: number,
    seq: number,
    attached: Attachment | undefined,
  ): void {
    const progress: TaskProgress = {
      status: "completed",
      attempt,
      worker: state.worker(state.tasks(run).workerOf(node)).id,
      startedAt: state.timeOfDay(startedAt),
      endedAt,
      result: attached?.type === "result" ? attached.result : undefined,
      resultHash,
      errorCode: "",
      errorMessage: "",
      costMicros,
      seq,
    };
    if (progress.result !== undefined && isGiven(state.runs.get(run), node))
      this.#onResult(taskKey(run, node), progress.result);
    this.#move(state, run, node, progress, this.#unwritten(state, run, node));
  }

  /** The submission of a task of which nothing was written since: it is in its first attempt, and that was not noted. */
  #unwritten(state: State, run: number, node: number): ProgressedTask["first"] {
    const tasks = state.tasks(run);
    if (tasks.attemptOf(node) !== 1 || tasks.statusOf(node) !== Status.assigned) return undefined;
    // It had been found, and was lost.
    if (state.runs.get(run)?.data?.found.has(node)) return undefined;
    const { zone, agent, seq } = run === NO_RUN ? state.singles.get(node) : submissionOf(state.run(run));
    if (seq <= (this.#since as number) || this.#requeued.has(tasks.taskIdOf(node))) return undefined;
    return { zone, agent, seq };
  }

  /** What is known of a task whose attempt has ended, or that never had one. */
  #progress(
    state: State,
    { run, node }: { run: number; node: number },
    now: number,
    seq: number,
  ): TaskProgress {
    const tasks = state.tasks(run);
    const worker = tasks.workerOf(node);
    const ending = this.#endings.get(keyOf(run, node));
    const lost = !ending && isSettling(tasks.statusOf(node)) ? LOST : {};
    return {
      ...QUEUED,
      attempt: tasks.attemptOf(node),
      worker: worker >= 0 ? state.worker(worker).id : "",
      endedAt: now,
      ...lost,
      ...ending,
      seq,
    };
  }

  #move(
    state: State,
    run: number,
    node: number,
    progress: TaskProgress,
    first?: ProgressedTask["first"],
  ): void {
    const id = state.tasks(run).taskIdOf(node);
    const submitted = this.#submitted.get(id);
    // What it was given in this turn is lost already.
    if (this.#chosen.length > 0) this.#chosen = this.#chosen.filter((chosen) => chosen.id !== id);
    if (submitted) submitted.progress = progress;
    else this.#progressed.set(id, { id, progress, first });
    if (this.#requeued.size > 0 && progress.endedAt >= 0) this.#requeued.delete(id);
  }

  #submitTask(
    state: State,
    event: TaskSubmitted,
    now: number,
    seq: number,
    attached: Attachment | undefined,
  ): void {
    const progress = { ...QUEUED, attempt: event.attempts, seq };
    const brought = attached?.type === "task" ? attached : undefined;
    if (event.requeued) {
      this.#progressed.set(event.id, { id: event.id, progress });
      this.#requeued.add(event.id);
      return;
    }
    if (brought?.key) {
      this.#keys.push(brought.key);
      this.#repeats.note(brought.key);
    }
    const task = singleRow(state, event, now, seq, brought);
    if (brought) {
      brought.submitted = task;
      this.#onPayload(taskKey(NO_RUN, state.nextTask), brought.payload);
    }
    this.#submitted.set(event.id, { task, progress });
  }

  #submitRun(
    number: number,
    event: RunSubmitted,
    now: number,
    seq: number,
    attached: Attachment | undefined,
  ): void {
    const { runId, graph } = event;
    const brought = attached?.type === "run" ? attached : undefined;
    this.#runs.set(runId, runRow(event, now, seq));
    const done = new Set(graph.done);
    const queued: TaskProgress = { ...QUEUED, seq };
    const completed: TaskProgress = { ...QUEUED, status: "completed", endedAt: now, seq };
    for (let node = 0; node < graph.ids.length; node++) {
      const task = nodeRow(event, node, now, seq, brought);
      if (brought) this.#onPayload(taskKey(number, node), task.payload);
      this.#submitted.set(task.id, { task, progress: done.has(node) ? completed : queued });
    }
  }

  /** A node that came in the same turn is not stored yet, and what it asks for is at hand. */
  #speculate(run: Run, { node, count }: TaskSpeculated, now: number, seq: number): void {
    const of = run.taskIdOf(node);
    const came = this.#submitted.get(of)?.task;
    for (let at = 0; at < count; at++) {
      const row = alternativeRow(run, node, at, now, seq + 1 + at);
      if (!came) this.#alternatives.push({ task: row, of });
      else {
        const { payload, settings } = came;
        this.#submitted.set(row.id, {
          task: { ...row, payload, settings },
          progress: { ...QUEUED, seq: row.submittedSeq },
        });
      }
    }
  }

  /** A winner that ended in the same turn is not stored yet, and its result is at hand. */
  #choose(state: State, { run: number, node, winner }: VoteTaken, endedAt: number, seq: number): void {
    const run = state.run(number);
    const { ends, since } = run.speculations.get(node) as Speculated;
    const id = run.taskIdOf(node);
    const of = alternativeIdOf(id, speculationTag(winner));
    const { hash: resultHash = "" } = ends[winner] ?? {};
    const won = this.#submitted.get(of)?.progress ?? this.#progressed.get(of)?.progress;
    const progress: TaskProgress = {
      ...QUEUED,
      status: "completed",
      attempt: Math.max(1, run.attemptOf(node)),
      startedAt: state.timeOfDay(since),
      endedAt,
      result: won?.result,
      resultHash,
      seq,
    };
    if (won) this.#move(state, run.number, node, progress);
    else this.#chosen.push({ id, progress, of });
  }

  #reuse(state: State, event: TaskReused, now: number, seq: number): void {
    const { run, node, taskId: of, resultHash } = event;
    const attempt = state.tasks(run).attemptOf(node);
    const times = { startedAt: now, endedAt: now };
    this.#copy(state, run, node, { ...QUEUED, status: "completed", attempt, ...times, resultHash, seq }, of);
  }

  #takeTail(state: State, { run, node, child: number }: ExpansionEnded, endedAt: number, seq: number): void {
    const child = state.run(number);
    const tail = child.parent?.tail ?? -1;
    const progress: TaskProgress = {
      ...QUEUED,
      status: "completed",
      attempt: state.tasks(run).attemptOf(node),
      startedAt: child.parent ? state.timeOfDay(child.parent.startedAt) : endedAt,
      endedAt,
      resultHash: child.data?.hashes.get(tail) ?? "",
      seq,
    };
    this.#copy(state, run, node, progress, child.taskIdOf(tail));
  }

  /** The result of another task is copied; one that ended in the same turn is not stored yet, and its result is at hand. */
  #copy(state: State, run: number, node: number, progress: TaskProgress, of: string): void {
    const made = this.#submitted.get(of)?.progress ?? this.#progressed.get(of)?.progress;
    const copied = { ...progress, result: made?.result };
    const id = state.tasks(run).taskIdOf(node);
    if (made) this.#move(state, run, node, copied);
    else {
      const first = this.#submitted.has(id) ? submissionOf(state.run(run)) : undefined;
      // It was to be made again until it was found.
      this.#progressed.delete(id);
      this.#chosen.push({ id, progress: copied, of, first });
    }
  }

  #endRun(id: string, outcome: RunRow["outcome"], endedAt: number): void {
    const run = this.#runs.get(id);
    if (run) this.#runs.set(id, { ...run, outcome, endedAt });
    else this.#runsEnded.set(id, { id, outcome, endedAt });
  }
}

/** Whether other nodes may get its result. */
function isGiven(run: Run | undefined, node: number): boolean {
  if (!run?.data) return false;
  const { start } = run.graph.dependents;
  return (start[node + 1] as number) > (start[node] as number);
}

function submissionOf({ zone, agent, submittedSeq }: Run): NonNullable<ProgressedTask["first"]> {
  return { zone, agent, seq: submittedSeq };
}

function isSettling(status: Status): boolean {
  return status === Status.settling || status === Status.settlingCancel;
}

function keyOf(run: number, node: number): string {
  return `${run}/${node}`;
}
