import { invariant, violated } from "../core/index.ts";
import { type StoredPayload, StoreError } from "./contract.ts";
import { NewestFirst, type Place, type Point } from "./newest-first.ts";
import { fits, isAsked, lineOf, matches, type RowParts, rowOf } from "./row-parts.ts";
import {
  type AlternativeTask,
  type FoundTasks,
  type IdempotencyKey,
  type KeyedTask,
  type ListCursor,
  type LogLine,
  type ProgressedTask,
  QUEUED,
  type Retention,
  type RowChanges,
  type RunRow,
  type SubmittedTask,
  type TaskFilter,
  type TaskLine,
  type TaskProgress,
  type TaskRow,
  type TaskSearch,
  type Usage,
} from "./rows.ts";

/** How many tasks that ended are kept, and how many runs; the oldest are forgotten first. */
const KEPT_ENDED = 10_000;

/** In parts, as they are written; a row is put together where one is asked for. */
interface KeptTask extends RowParts {
  progress: TaskProgress;
  usage: Usage | undefined;
  /** Of its idempotency key; undefined: it has none. */
  key: string | undefined;
  logs: LogLine[] | undefined;
  /** Undefined as well where the run is not known. */
  readonly run: KeptRun | undefined;
  readonly place: Place<KeptTask>;
  /** Among the ends; undefined: it is open. */
  end: Place<KeptTask> | undefined;
}

interface KeptRun {
  row: RunRow;
  readonly place: Place<KeptRun>;
  readonly taskOrder: NewestFirst<KeptTask>;
  /** Of its tasks while it is open, in their order. */
  ends: Place<KeptTask>[];
}

/** The rows of a memory store. */
export class MemoryRows {
  readonly #tasks = new Map<string, KeptTask>();
  readonly #taskOrder = new NewestFirst<KeptTask>();
  readonly #runs = new Map<string, KeptRun>();
  readonly #runOrder = new NewestFirst<KeptRun>();
  readonly #keys = new Map<string, KeyedTask>();
  /** In the order in which they ended. A task of a run that is still open is not among them: others may need it. */
  #endedTasks: KeptTask[] = [];
  #endedRuns: KeptRun[] = [];
  /** Every task that ended, by the event that it ended by. */
  readonly #ends = new NewestFirst<KeptTask>();

  change(changes: RowChanges): void {
    this.#refuseDoubles(changes);
    for (const row of changes.runs) this.#addRun(row);
    for (const one of changes.submitted) this.#addTask(one);
    for (const one of changes.alternatives) this.#addTask(this.#asked(one));
    for (const key of changes.keys) this.#addKey(key);
    for (const one of changes.progressed) this.#progress(one);
    for (const { id, progress, of } of changes.chosen)
      this.#progress({ id, progress: { ...progress, result: this.result(of) } });
    for (const usage of changes.usages) this.#use(usage);
    for (const { id, outcome, endedAt } of changes.runsEnded) this.#endRun(id, outcome, endedAt);
    this.#forgetOldest();
  }

  keyed(keys: readonly IdempotencyKey[]): KeyedTask[] {
    return keys.flatMap((key) => this.#keys.get(textOf(key)) ?? []);
  }

  payloads(ids: readonly string[]): ReadonlyMap<string, StoredPayload> {
    const found = new Map<string, StoredPayload>();
    for (const id of ids) {
      const task = this.#tasks.get(id);
      if (!task) continue;
      const { payload, settings } = task.task;
      found.set(id, {
        payload,
        tracedSettings: settings.includes('"traceparent":') ? settings : undefined,
      });
    }
    return found;
  }

  task(id: string): TaskRow | undefined {
    const kept = this.#tasks.get(id);
    return kept && rowOf(kept);
  }

  result(id: string): string | undefined {
    return this.#tasks.get(id)?.progress.result;
  }

  tasks(filter: TaskFilter, after: ListCursor | undefined, limit: number): TaskLine[] {
    const found: TaskLine[] = [];
    const among = filter.among && new Set(filter.among);
    // Tasks may be kept for longer than their run.
    const run = filter.runId === undefined ? undefined : this.#runs.get(filter.runId);
    for (const kept of (run?.taskOrder ?? this.#taskOrder).olderThan(pointOf(after))) {
      if (found.length === limit) break;
      if (among?.has(kept.task.id) !== false && matches(kept, filter)) found.push(lineOf(kept));
    }
    return found;
  }

  findTasks(search: TaskSearch, after: ListCursor | undefined, limit: number, look: number): FoundTasks {
    const lines: TaskLine[] = [];
    let fitting = 0;
    let looked: KeptTask | undefined;
    let count = 0;
    for (const kept of this.#taskOrder.olderThan(pointOf(after))) {
      if (count === look) break;
      count += 1;
      looked = kept;
      if (!matches(kept, search) || !fits(kept, search)) continue;
      fitting += 1;
      if (lines.length < limit) lines.push(lineOf(kept));
    }
    const lookedTo =
      looked && count === look ? { submittedSeq: looked.task.submittedSeq, id: looked.task.id } : undefined;
    return { lines, fitting, lookedTo };
  }

  run(id: string): RunRow | undefined {
    return this.#runs.get(id)?.row;
  }

  runs(
    filter: Pick<TaskFilter, "zone" | "agent">,
    after: ListCursor | undefined,
    limit: number,
  ): readonly RunRow[] {
    const found: RunRow[] = [];
    for (const { row } of this.#runOrder.olderThan(pointOf(after))) {
      if (found.length === limit) break;
      if (row.zone === filter.zone && isAsked(filter.agent, row.agent)) found.push(row);
    }
    return found;
  }

  /** What ended after an event and id, in order. */
  endedAfter(point: Point): TaskRow[] {
    return Array.from(this.#ends.newerThan(point), rowOf).reverse();
  }

  runsEndedFrom(time: number): RunRow[] {
    return this.#endedRuns.map(({ row }) => row).filter(({ endedAt }) => endedAt >= time);
  }

  /** Lines of tasks that are no longer known are dropped. */
  appendLogs(lines: readonly LogLine[]): void {
    for (const line of lines) {
      const task = this.#tasks.get(line.taskId);
      if (!task) continue;
      task.logs ??= [];
      const { logs } = task;
      const isNext = line.line > (logs.at(-1)?.line ?? -1);
      if (!isNext && logs.some((known) => known.line === line.line)) continue;
      logs.push(line);
      if (!isNext) logs.sort((a, b) => a.line - b.line);
    }
  }

  logs(taskId: string, afterLine: number, limit: number): readonly LogLine[] {
    const logs = this.#tasks.get(taskId)?.logs ?? [];
    return logs.filter(({ line }) => line > afterLine).slice(0, limit);
  }

  prune(now: number, { endedTasksMs, logsMs, idempotencyMs }: Retention): number {
    const before = this.#tasks.size;
    if (endedTasksMs !== null) this.#forgetEndedUntil(now - endedTasksMs);
    for (const task of this.#tasks.values()) {
      if (logsMs !== null) task.logs = task.logs?.filter(({ at }) => at > now - logsMs);
      if (isEndedUntil(task.progress.endedAt, now - idempotencyMs)) this.#forgetKey(task);
    }
    return before - this.#tasks.size;
  }

  /** Checked before anything is changed: a block is committed with all of its rows or not at all. */
  #refuseDoubles({ submitted, alternatives, keys, runs }: RowChanges): void {
    const texts = keys.map(textOf);
    if (new Set(texts).size < texts.length || texts.some((text) => this.#keys.has(text)))
      throw new StoreError("refused", "an idempotency key is used twice");
    const isKept = ({ task }: { readonly task: SubmittedTask }) => this.#tasks.has(task.id);
    if (submitted.some(isKept) || alternatives.some(isKept))
      throw new StoreError("refused", "a task is submitted twice");
    if (runs.some(({ id }) => this.#runs.has(id)))
      throw new StoreError("refused", "a run is submitted twice");
  }

  #addRun(row: RunRow): void {
    const place: Place<KeptRun> = { seq: row.submittedSeq, id: row.id, row: undefined };
    const run: KeptRun = { row, place, taskOrder: new NewestFirst(), ends: [] };
    place.row = run;
    this.#runs.set(row.id, run);
    this.#runOrder.add(place);
    if (row.endedAt >= 0) this.#endedRuns.push(run);
  }

  #addTask({ task, progress }: RowChanges["submitted"][number]): void {
    const { id, submittedSeq: seq } = task;
    const run = task.run && this.#runs.get(task.run.id);
    const place: Place<KeptTask> = { seq, id, row: undefined };
    const kept: KeptTask = {
      task,
      progress,
      usage: undefined,
      key: undefined,
      logs: undefined,
      run,
      place,
      end: undefined,
    };
    place.row = kept;
    this.#tasks.set(id, kept);
    this.#taskOrder.add(place);
    run?.taskOrder.add(place);
    this.#noteEnd(kept);
  }

  #asked({ task, of }: AlternativeTask): RowChanges["submitted"][number] {
    const other = this.#tasks.get(of);
    invariant(other, `the task ${of} came before its alternatives`);
    const { payload, settings } = other.task;
    return { task: { ...task, payload, settings }, progress: { ...QUEUED, seq: task.submittedSeq } };
  }

  #use(usage: Usage): void {
    const task = this.#tasks.get(usage.id);
    if (task) task.usage = usage;
  }

  #addKey(keyed: KeyedTask): void {
    const text = textOf(keyed);
    this.#keys.set(text, keyed);
    const task = this.#tasks.get(keyed.taskId);
    if (task) task.key = text;
  }

  #progress({ id, progress, first }: ProgressedTask): void {
    const kept = this.#tasks.get(id);
    if (!kept) return;
    const { zone, agent, submittedSeq } = kept.task;
    if (first) {
      const isTrue = first.zone === zone && first.agent === agent && first.seq === submittedSeq;
      if (!isTrue || kept.progress.seq !== submittedSeq)
        violated(`nothing was written of ${id} since it was submitted`);
    }
    if (kept.end) this.#reopen(kept, kept.end);
    kept.progress = progress;
    this.#noteEnd(kept);
  }

  #endRun(id: string, outcome: RunRow["outcome"], endedAt: number): void {
    const run = this.#runs.get(id);
    if (!run) return;
    const wasOpen = isOpen(run);
    run.row = { ...run.row, outcome, endedAt };
    if (!wasOpen) return;
    this.#endedRuns.push(run);
    for (const { row: task } of run.ends) if (task) this.#endedTasks.push(task);
    run.ends = [];
  }

  #noteEnd(kept: KeptTask): void {
    const { task, progress, run } = kept;
    if (progress.endedAt < 0) return;
    kept.end = { seq: progress.seq, id: task.id, row: kept };
    this.#ends.add(kept.end);
    if (run && isOpen(run)) run.ends.push(kept.end);
    else this.#endedTasks.push(kept);
  }

  #reopen(kept: KeptTask, end: Place<KeptTask>): void {
    this.#ends.remove(end);
    kept.end = undefined;
    if (!kept.run || !isOpen(kept.run)) this.#endedTasks.splice(this.#endedTasks.indexOf(kept), 1);
  }

  #forgetOldest(): void {
    for (const task of takeSurplus(this.#endedTasks)) this.#forgetTask(task);
    for (const run of takeSurplus(this.#endedRuns)) this.#forgetRun(run);
  }

  #forgetEndedUntil(time: number): void {
    for (const task of this.#endedTasks) if (task.progress.endedAt <= time) this.#forgetTask(task);
    for (const run of this.#endedRuns) if (run.row.endedAt <= time) this.#forgetRun(run);
    this.#endedTasks = this.#endedTasks.filter(({ place }) => place.row);
    this.#endedRuns = this.#endedRuns.filter(({ place }) => place.row);
  }

  /** One that ended; it is taken from those by the caller. */
  #forgetTask(task: KeptTask): void {
    this.#forgetKey(task);
    this.#tasks.delete(task.task.id);
    if (task.end) this.#ends.remove(task.end);
    this.#taskOrder.remove(task.place);
    task.run?.taskOrder.remove(task.place);
  }

  #forgetRun(run: KeptRun): void {
    this.#runs.delete(run.row.id);
    this.#runOrder.remove(run.place);
  }

  #forgetKey(task: KeptTask): void {
    if (task.key !== undefined) this.#keys.delete(task.key);
    task.key = undefined;
  }
}

function isOpen({ row }: KeptRun): boolean {
  return row.endedAt < 0;
}

function takeSurplus<Row>(ended: Row[]): Row[] {
  return ended.length > KEPT_ENDED ? ended.splice(0, ended.length - KEPT_ENDED) : [];
}

function pointOf(cursor: ListCursor | undefined): Point | undefined {
  return cursor && { seq: cursor.submittedSeq, id: cursor.id };
}

function textOf({ zone, agent, key }: IdempotencyKey): string {
  return JSON.stringify([zone, agent, key]);
}

function isEndedUntil(endedAt: number, time: number): boolean {
  return endedAt >= 0 && endedAt <= time;
}
