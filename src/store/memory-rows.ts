import { compareText, invariant, violated } from "../core/index.ts";
import { type StoredPayload, StoreError } from "./contract.ts";
import { NewestFirst } from "./newest-first.ts";
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
  type TaskFilter,
  type TaskLine,
  type TaskProgress,
  type TaskRow,
  type TaskSearch,
  type Usage,
} from "./rows.ts";

/** How many tasks that ended are kept, and how many runs; the oldest are forgotten first. */
const KEPT_ENDED = 10_000;
/** How many ends can be followed; of a run that is still open more tasks than are kept may have ended. */
const KEPT_ENDS = 100_000;

/** In parts, as they are written; a row is put together where one is asked for. */
interface KeptTask extends RowParts {
  progress: TaskProgress;
  usage: Usage | undefined;
  /** Of its idempotency key; undefined: it has none. */
  key: string | undefined;
  logs: LogLine[] | undefined;
}

interface KeptRun {
  row: RunRow;
  readonly taskIds: Set<string>;
  readonly taskOrder: NewestFirst;
}

/** The rows of a memory store. */
export class MemoryRows {
  readonly #tasks = new Map<string, KeptTask>();
  readonly #taskOrder = new NewestFirst((id) => this.#tasks.has(id));
  readonly #runs = new Map<string, KeptRun>();
  readonly #runOrder = new NewestFirst((id) => this.#runs.has(id));
  readonly #keys = new Map<string, KeyedTask>();
  /** In the order in which they ended. A task of a run that is still open is not among them: others may need it. */
  readonly #endedTasks = new Set<string>();
  readonly #endedRuns = new Set<string>();
  /** Every end of a task, in order. */
  #ends: string[] = [];

  change(changes: RowChanges): void {
    this.#refuseDoubles(changes);
    this.#addRuns(changes.runs);
    this.#addTasks(changes.submitted);
    this.#addTasks(changes.alternatives.map((one) => this.#asked(one)));
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
    for (const id of (run?.taskOrder ?? this.#taskOrder).idsAfter(after)) {
      if (found.length === limit) break;
      const kept = among?.has(id) === false ? undefined : this.#tasks.get(id);
      if (kept && matches(kept, filter)) found.push(lineOf(kept));
    }
    return found;
  }

  findTasks(search: TaskSearch, after: ListCursor | undefined, limit: number, look: number): FoundTasks {
    const lines: TaskLine[] = [];
    let fitting = 0;
    let looked: KeptTask | undefined;
    let count = 0;
    for (const id of this.#taskOrder.idsAfter(after)) {
      if (count === look) break;
      const kept = this.#tasks.get(id);
      if (!kept) continue;
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
    for (const id of this.#runOrder.idsAfter(after)) {
      if (found.length === limit) break;
      const row = this.run(id);
      if (row?.zone === filter.zone && isAsked(filter.agent, row.agent)) found.push(row);
    }
    return found;
  }

  /** What ended after an event and id, in order. */
  endedAfter({ seq, id }: { readonly seq: number; readonly id: string }): TaskRow[] {
    const found = new Map<string, TaskRow>();
    for (let at = this.#ends.length - 1; at >= 0; at--) {
      const kept = this.#tasks.get(this.#ends[at] as string);
      if (!kept || kept.progress.endedAt < 0) continue;
      if (kept.progress.seq < seq) break;
      if (kept.progress.seq > seq || kept.task.id > id) found.set(kept.task.id, rowOf(kept));
    }
    return [...found.values()].sort((a, b) => a.seq - b.seq || compareText(a.id, b.id));
  }

  runsEndedFrom(time: number): RunRow[] {
    const ended = Array.from(this.#endedRuns, (id) => this.run(id) as RunRow);
    return ended.filter(({ endedAt }) => endedAt >= time);
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
      throw new StoreError("unwritable", "an idempotency key is used twice");
    if ([...submitted, ...alternatives].some(({ task }) => this.#tasks.has(task.id)))
      throw new StoreError("unwritable", "a task is submitted twice");
    if (runs.some(({ id }) => this.#runs.has(id)))
      throw new StoreError("unwritable", "a run is submitted twice");
  }

  #addRuns(rows: readonly RunRow[]): void {
    for (const row of rows) {
      const taskIds = new Set<string>();
      this.#runs.set(row.id, { row, taskIds, taskOrder: new NewestFirst((id) => taskIds.has(id)) });
      if (row.endedAt >= 0) this.#endedRuns.add(row.id);
    }
    this.#runOrder.add(rows);
  }

  #addTasks(submitted: RowChanges["submitted"]): void {
    const byRun = new Map<KeptRun, ListCursor[]>();
    for (const { task, progress } of submitted) {
      const kept: KeptTask = { task, progress, usage: undefined, key: undefined, logs: undefined };
      this.#tasks.set(task.id, kept);
      const run = task.run && this.#runs.get(task.run.id);
      if (run) listOf(byRun, run).push(task);
      if (progress.endedAt < 0) continue;
      this.#noteEnd(kept);
      this.#ends.push(task.id);
    }
    this.#taskOrder.add(submitted.map(({ task }) => task));
    for (const [run, tasks] of byRun) {
      for (const { id } of tasks) run.taskIds.add(id);
      run.taskOrder.add(tasks);
    }
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
    kept.progress = progress;
    this.#noteEnd(kept);
    if (progress.endedAt >= 0) this.#ends.push(id);
  }

  #endRun(id: string, outcome: RunRow["outcome"], endedAt: number): void {
    const run = this.#runs.get(id);
    if (!run) return;
    run.row = { ...run.row, outcome, endedAt };
    this.#endedRuns.add(id);
    for (const taskId of run.taskIds) this.#noteEnd(this.#tasks.get(taskId) as KeptTask, false);
  }

  #noteEnd(kept: KeptTask, isOfOpenRun: boolean = this.#isOfOpenRun(kept)): void {
    const { id } = kept.task;
    const { progress } = kept;
    if (progress.endedAt < 0 || isOfOpenRun) this.#endedTasks.delete(id);
    else this.#endedTasks.add(id);
  }

  #isOfOpenRun({ task: { run } }: KeptTask): boolean {
    return run !== undefined && this.#runs.get(run.id)?.row.endedAt === -1;
  }

  #forgetOldest(): void {
    if (this.#ends.length > 2 * KEPT_ENDS) this.#ends = this.#ends.slice(-KEPT_ENDS);
    for (const id of this.#endedTasks) {
      if (this.#endedTasks.size <= KEPT_ENDED) break;
      this.#forgetTask(id);
    }
    for (const id of this.#endedRuns) {
      if (this.#endedRuns.size <= KEPT_ENDED) break;
      this.#forgetRun(id);
    }
  }

  #forgetEndedUntil(time: number): void {
    for (const id of [...this.#endedTasks])
      if (isEndedUntil(this.#tasks.get(id)?.progress.endedAt ?? -1, time)) this.#forgetTask(id);
    for (const id of [...this.#endedRuns])
      if (isEndedUntil(this.run(id)?.endedAt ?? -1, time)) this.#forgetRun(id);
  }

  #forgetTask(id: string): void {
    const task = this.#tasks.get(id);
    if (!task) return;
    this.#forgetKey(task);
    const run = task.task.run && this.#runs.get(task.task.run.id);
    if (run?.taskIds.delete(id)) run.taskOrder.noteForgotten();
    this.#endedTasks.delete(id);
    this.#tasks.delete(id);
    this.#taskOrder.noteForgotten();
  }

  #forgetRun(id: string): void {
    this.#endedRuns.delete(id);
    this.#runs.delete(id);
    this.#runOrder.noteForgotten();
  }

  #forgetKey(task: KeptTask): void {
    if (task.key !== undefined) this.#keys.delete(task.key);
    task.key = undefined;
  }
}

function listOf<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

function textOf({ zone, agent, key }: IdempotencyKey): string {
  return JSON.stringify([zone, agent, key]);
}

function isEndedUntil(endedAt: number, time: number): boolean {
  return endedAt >= 0 && endedAt <= time;
}
