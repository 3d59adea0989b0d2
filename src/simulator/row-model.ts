import { alternativeIdOf, taskIdOf } from "../core/index.ts";
import { Projection } from "../driver/index.ts";
import type { Block, LedgerEvent, RunSubmitted, TaskSubmitted } from "../ledger/index.ts";
import { apply, eventsOf, State } from "../scheduler/index.ts";
import { type KeyedTask, MemoryStore, QUEUED, type RowChanges, type TaskProgress } from "../store/index.ts";
import type { Model } from "./model.ts";
import type { ModelTask } from "./model-tasks.ts";
import type { Disk } from "./sim-store.ts";
import { demand } from "./violation.ts";

type Ending = Pick<TaskProgress, "startedAt" | "errorCode" | "errorMessage" | "costMicros">;

const NOTHING: Ending = { startedAt: -1, errorCode: "", errorMessage: "", costMicros: 0 };
const LOST: Ending = { ...NOTHING, errorCode: "lost", errorMessage: "its worker was lost" };

/** What the rows of all tasks must say, event by event. Results and payloads are not in the ledger, nor here. */
export class RowModel {
  readonly tasks: Map<string, Omit<TaskProgress, "result">> = new Map();
  readonly runs: Map<string, string> = new Map();
  readonly #endings = new Map<ModelTask, Ending>();
  #touched = new Set<string>();
  #keys: KeyedTask[] = [];

  takeKey(key: KeyedTask): void {
    this.#keys.push(key);
  }

  /** In the model as it was before the event. */
  before(model: Model, event: LedgerEvent, now: number): void {
    const seq = model.seq + 1;
    switch (event.kind) {
      case "TaskSubmitted":
        this.#submit(event, seq);
        break;
      case "RunSubmitted":
        this.#submitRun(event, now, seq);
        break;
      case "RunEnded":
        this.runs.set(model.runAt(event.run).id, event.outcome);
        break;
      case "AttemptStarted":
        this.#set(model.taskAt(event), "running", { ...NOTHING, startedAt: event.startedAt }, -1, seq);
        break;
      case "AttemptFinished":
        this.#set(model.taskAt(event), "completed", { ...NOTHING, ...costOf(event) }, now, seq, event);
        break;
      case "AttemptFailed":
      case "AttemptTimedOut":
      case "AttemptLost":
      case "AttemptCancelled":
        this.#endings.set(model.taskAt(event), endingOf(event));
        break;
      case "TaskRetried":
        this.#set(model.taskAt(event), "queued", { ...this.#ending(model, event), startedAt: -1 }, -1, seq);
        break;
      case "TaskSpeculated":
        for (let at = 0; at < event.count; at++) this.#addAlternative(model.taskAt(event), at, seq);
        break;
      case "VoteTaken":
        if (event.winner >= 0) this.#choose(model.taskAt(event), event.winner, now, seq);
        break;
      case "TaskFailed":
        this.#set(model.taskAt(event), "failed", this.#ending(model, event), now, seq);
        break;
      case "TaskCancelled":
        this.#set(model.taskAt(event), "cancelled", this.#ending(model, event), now, seq);
        break;
      case "NodesRecomputed":
      case "TasksWithdrawn":
        for (const node of event.nodes) this.#requeue(model.taskAt({ run: event.run, node }), seq);
        break;
      case "TaskReused":
        this.#reuse(model.taskAt(event), event.resultHash, now, seq);
        break;
      case "ExpansionEnded":
        this.#takeTail(model.taskAt(event), now, seq);
        break;
      case "TasksSkipped": {
        const errorMessage = `${model.taskAt(event).id} did not complete`;
        for (const node of event.nodes) {
          const skipped = { errorCode: "skipped", errorMessage };
          const task = model.taskAt({ run: event.run, node });
          const ending = { ...this.#ending(model, { run: event.run, node }), ...skipped };
          this.#set(task, "cancelled", ending, now, seq);
        }
        break;
      }
      default:
    }
  }

  /** What a block changes in the rows is what its events say, all of it and nothing else. */
  check(changes: RowChanges | undefined): void {
    demand(changes !== undefined, "rows", () => "a block was stored without its rows");
    const changed = new Set<string>();
    const chosen = new Set(changes.chosen.map(({ id }) => id));
    for (const { task, progress } of changes.submitted)
      if (!chosen.has(task.id)) this.#compare(task.id, progress, changed);
    for (const { task } of changes.alternatives)
      this.#compare(task.id, { ...QUEUED, seq: task.submittedSeq }, changed);
    for (const { id, progress } of [...changes.progressed, ...changes.chosen])
      this.#compare(id, progress, changed);
    const missing = [...this.#touched].filter((id) => !changed.has(id));
    demand(missing.length === 0, "rows", () => `the rows of ${missing.join(", ")} were not changed`);
    demand(
      JSON.stringify(changes.keys) === JSON.stringify(this.#keys),
      "rows",
      () => `the keys ${JSON.stringify(changes.keys)} are kept, ${JSON.stringify(this.#keys)} came`,
    );
    this.#touched = new Set();
    this.#keys = [];
    this.#endings.clear();
  }

  /** The rows as they are stored, and as the ledger alone gives them. */
  async atEnd({ rows, blocks }: Disk): Promise<void> {
    const rebuilt = await rebuild(blocks);
    for (const id of this.tasks.keys()) {
      this.compare(id, await rows.task(id));
      this.compare(id, await rebuilt.task(id));
    }
    for (const [id, outcome] of this.runs) {
      for (const run of [await rows.run(id), await rebuilt.run(id)]) {
        demand(run?.outcome === outcome, "rows", () => `run ${id} is ${run?.outcome}, should be ${outcome}`);
      }
    }
  }

  #compare(id: string, { result: _, ...progress }: TaskProgress, changed: Set<string>): void {
    this.compare(id, progress);
    demand(!changed.has(id), "rows", () => `the row of ${id} is changed twice`);
    changed.add(id);
  }

  compare(id: string, progress: Omit<TaskProgress, "result"> | undefined): void {
    const truth = this.tasks.get(id);
    const keys = Object.keys(truth ?? {}) as (keyof typeof progress)[];
    const wrong = keys.filter((key) => progress?.[key] !== truth?.[key]);
    demand(
      truth !== undefined && wrong.length === 0,
      "rows",
      () => `the row of ${id} is ${JSON.stringify(progress)}, should be ${JSON.stringify(truth)}`,
    );
  }

  #submit({ id, attempts }: TaskSubmitted, seq: number): void {
    this.#put(id, { status: "queued", attempt: attempts, worker: "", endedAt: -1, resultHash: "", seq });
  }

  #submitRun({ runId, graph }: RunSubmitted, now: number, seq: number): void {
    this.runs.set(runId, "");
    const done = new Set(graph.done);
    for (const [node, id] of graph.ids.entries()) {
      const status = done.has(node) ? "completed" : "queued";
      const endedAt = done.has(node) ? now : -1;
      const row = { status, attempt: 0, worker: "", endedAt, resultHash: "", seq } as const;
      this.#put(taskIdOf(runId, id), row);
    }
  }

  #addAlternative({ publicId }: ModelTask, at: number, seq: number): void {
    const id = alternativeIdOf(publicId, at === 0 ? "speculate:primary" : `speculate:alt${at}`);
    this.#put(id, {
      status: "queued",
      attempt: 0,
      worker: "",
      endedAt: -1,
      resultHash: "",
      seq: seq + 1 + at,
    });
  }

  /** The node has the result of one of its alternatives. */
  #choose({ publicId, attempt, speculation }: ModelTask, winner: number, now: number, seq: number): void {
    const resultHash = speculation?.ends[winner]?.hash ?? "";
    this.#put(publicId, {
      status: "completed",
      attempt: Math.max(1, attempt),
      worker: "",
      endedAt: now,
      resultHash,
      seq,
    });
    this.tasks.set(publicId, {
      ...(this.tasks.get(publicId) as Omit<TaskProgress, "result">),
      startedAt: speculation?.since ?? -1,
    });
  }

  /** It is not done, or not any more. */
  #requeue({ publicId, attempt }: ModelTask, seq: number): void {
    this.#put(publicId, { status: "queued", attempt, worker: "", endedAt: -1, resultHash: "", seq });
  }

  #reuse({ publicId, attempt }: ModelTask, resultHash: string, now: number, seq: number): void {
    this.#put(publicId, { status: "completed", attempt, worker: "", endedAt: now, resultHash, seq });
    this.tasks.set(publicId, {
      ...(this.tasks.get(publicId) as Omit<TaskProgress, "result">),
      startedAt: now,
    });
  }

  #takeTail({ publicId, attempt, added }: ModelTask, now: number, seq: number): void {
    const { tail = -1, startedAt = -1 } = added?.addedBy ?? {};
    const resultHash = added?.tasks[tail]?.resultHash ?? "";
    this.#put(publicId, { status: "completed", attempt, worker: "", endedAt: now, resultHash, seq });
    this.tasks.set(publicId, { ...(this.tasks.get(publicId) as Omit<TaskProgress, "result">), startedAt });
  }

  #put(id: string, row: Omit<TaskProgress, keyof Ending | "result">): void {
    this.tasks.set(id, { ...NOTHING, ...row });
    this.#touched.add(id);
  }

  #set(
    task: ModelTask,
    status: TaskProgress["status"],
    ending: Ending,
    endedAt: number,
    seq: number,
    { startedAt, resultHash = "" }: { startedAt?: number; resultHash?: string } = {},
  ): void {
    const { attempt, worker, publicId } = task;
    this.#touched.add(publicId);
    this.tasks.set(publicId, {
      ...ending,
      ...(startedAt !== undefined && { startedAt }),
      status,
      attempt,
      worker: worker?.spec.id ?? "",
      endedAt,
      resultHash,
      seq,
    });
  }

  /** How the attempt ended that is being settled; with no report, its worker was lost. */
  #ending(model: Model, event: { run: number; node: number; code?: string }): Ending {
    const task = model.taskAt(event);
    if (event.code === "expired") {
      return { ...NOTHING, errorCode: "expired", errorMessage: "its deadline passed before it began" };
    }
    if (event.code === "escalated") {
      const errorMessage = "none of its alternatives is good enough: a person has to look";
      return { ...NOTHING, errorCode: "escalated", errorMessage };
    }
    if (event.code === "poison") {
      const errorMessage =
        "three workers were lost while they ran it: it is the likely cause, by ending them, or by computing without a pause on their main thread, which kept them from being heard of (then mark it with onThread, or give it processor: thread)";
      return { ...NOTHING, errorCode: "poison", errorMessage };
    }
    if (event.code === "expansion") {
      const errorMessage = "the run that it expanded into did not complete";
      return { ...NOTHING, errorCode: "expansion", errorMessage };
    }
    if (event.code === "link") {
      const errorMessage = "the node that it stands for did not complete";
      return { ...NOTHING, errorCode: "link", errorMessage };
    }
    if (event.code === "corrupt") {
      const errorMessage =
        "three times its worker did not give the result that it had said it made, or gave another one: if workers cannot reach each other, look at --data-host and --data-url";
      return { ...NOTHING, errorCode: "corrupt", errorMessage };
    }
    if (task.status !== "settling" && task.status !== "settlingCancel") return NOTHING;
    return this.#endings.get(task) ?? LOST;
  }
}

/** A store that was given nothing but the blocks. */
async function rebuild(blocks: readonly Block[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  const projection = new Projection(store);
  const state = new State();
  for (const block of blocks) {
    for (const { event, now } of eventsOf(block)) {
      projection.note(state, event, now, undefined);
      apply(state, event, now);
    }
    await store.commit(block, projection.take());
    projection.takeFacts();
  }
  return store;
}

function costOf({ costMicros = 0 }: { readonly costMicros?: number }): { costMicros: number } {
  return { costMicros };
}

function endingOf(
  event: Extract<
    LedgerEvent,
    { kind: "AttemptFailed" | "AttemptTimedOut" | "AttemptLost" | "AttemptCancelled" }
  >,
): Ending {
  const { startedAt } = event;
  switch (event.kind) {
    case "AttemptFailed":
      return { startedAt, errorCode: event.code, errorMessage: event.message, ...costOf(event) };
    case "AttemptTimedOut":
      return {
        ...NOTHING,
        startedAt,
        errorCode: "timeout",
        errorMessage: "it ran longer than its time limit",
      };
    case "AttemptLost":
      return { ...NOTHING, startedAt, errorCode: "lost", errorMessage: "its worker no longer knew of it" };
    case "AttemptCancelled":
      return { ...NOTHING, startedAt };
  }
}
