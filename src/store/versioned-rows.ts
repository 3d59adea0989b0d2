import { compareText, invariant } from "../core/index.ts";
import { fits, isAsked, lineOf, matches, type RowParts, rowOf } from "./row-parts.ts";
import {
  type FoundTasks,
  type ListCursor,
  QUEUED,
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

/** What came under an id: it may come again, after it ended and was forgotten. */
interface Life<Kept> {
  /** The event that it came by. */
  readonly since: number;
  /** What had the same id before. */
  readonly before: Kept | undefined;
}

interface VersionedTask extends Life<VersionedTask> {
  readonly task: SubmittedTask;
  /** By the event that each follows from. */
  readonly versions: TaskProgress[];
  usages: { readonly seq: number; readonly usage: Usage }[] | undefined;
}

interface VersionedRun extends Life<VersionedRun> {
  readonly row: RunRow;
  readonly tasks: VersionedTask[];
  ended: { readonly seq: number; readonly row: RunRow } | undefined;
}

/** An alternative is listed as if it had come a few events after the one that it came by. */
const MOST_ALTERNATIVES = 100;

/**
 * Rows as they were after any event: all that the ledger ever changed in them is kept. Payloads, settings and results are not in
 * the ledger, and so not here.
 */
export class VersionedRows {
  readonly #tasks = new Map<string, VersionedTask>();
  /** Oldest first. */
  readonly #taskOrder: VersionedTask[] = [];
  readonly #runs = new Map<string, VersionedRun>();
  readonly #runOrder: VersionedRun[] = [];

  /** What one event changes. */
  change(seq: number, changes: RowChanges): void {
    for (const row of changes.runs) this.#addRun(seq, row);
    const submitted = changes.submitted.map(({ task, progress }) => this.#addTask(seq, task, progress));
    this.#list(submitted);
    const alternatives = changes.alternatives.map(({ task }) =>
      this.#addTask(seq, task, { ...QUEUED, seq: task.submittedSeq }),
    );
    this.#list(alternatives);
    for (const { id, progress } of [...changes.progressed, ...changes.chosen])
      this.#task(id).versions.push(progress);
    for (const usage of changes.usages) {
      const task = this.#task(usage.id);
      task.usages ??= [];
      task.usages.push({ seq, usage });
    }
    for (const { id, outcome, endedAt } of changes.runsEnded) {
      const run = this.#runs.get(id);
      if (run) run.ended = { seq, row: { ...run.row, outcome, endedAt } };
    }
  }

  task(at: number, id: string): TaskRow | undefined {
    const parts = partsAt(lifeAt(this.#tasks.get(id), at), at);
    return parts && rowOf(parts);
  }

  /** Newest first, after the cursor. */
  tasks(at: number, filter: TaskFilter, after: ListCursor | undefined, limit: number): TaskLine[] {
    const found: TaskLine[] = [];
    for (const kept of this.#candidates(at, filter, after)) {
      if (found.length === limit) break;
      const parts = this.#partsAt(kept, at);
      if (parts && matches(parts, filter)) found.push(lineOf(parts));
    }
    return found;
  }

  /** Those that fit among the next `look`. */
  findTasks(
    at: number,
    search: TaskSearch,
    after: ListCursor | undefined,
    limit: number,
    look: number,
  ): FoundTasks {
    const lines: TaskLine[] = [];
    let fitting = 0;
    let count = 0;
    for (const kept of this.#candidates(at, search, after)) {
      const parts = this.#partsAt(kept, at);
      if (!parts) continue;
      count += 1;
      if (matches(parts, search) && fits(parts, search)) {
        fitting += 1;
        if (lines.length < limit) lines.push(lineOf(parts));
      }
      const { submittedSeq, id } = kept.task;
      if (count === look) return { lines, fitting, lookedTo: { submittedSeq, id } };
    }
    return { lines, fitting, lookedTo: undefined };
  }

  run(at: number, id: string): RunRow | undefined {
    return runRowAt(lifeAt(this.#runs.get(id), at), at);
  }

  runs(
    at: number,
    filter: Pick<TaskFilter, "zone" | "agent">,
    after: ListCursor | undefined,
    limit: number,
  ): RunRow[] {
    const found: RunRow[] = [];
    for (const run of newestFirst(this.#runOrder, ({ row }) => row, after ?? startOf(at))) {
      if (found.length === limit) break;
      const row = runRowAt(run, at);
      if (row?.zone !== filter.zone || !isAsked(filter.agent, row.agent)) continue;
      if (lifeAt(this.#runs.get(row.id), at) === run) found.push(row);
    }
    return found;
  }

  #task(id: string): VersionedTask {
    const task = this.#tasks.get(id);
    invariant(task, `the task ${id} came before what became of it`);
    return task;
  }

  #addRun(seq: number, row: RunRow): void {
    const before = this.#runs.get(row.id);
    const run: VersionedRun = { row, since: seq, before, tasks: [], ended: undefined };
    this.#runs.set(row.id, run);
    this.#runOrder.push(run);
  }

  #addTask(seq: number, task: SubmittedTask, progress: TaskProgress): VersionedTask {
    const before = this.#tasks.get(task.id);
    const kept: VersionedTask = { task, versions: [progress], since: seq, before, usages: undefined };
    this.#tasks.set(task.id, kept);
    return kept;
  }

  /** What came by one event: into the list of all, and of their run. */
  #list(came: VersionedTask[]): void {
    came.sort((a, b) => byPlace(a.task, b.task));
    for (const kept of came) {
      insert(this.#taskOrder, kept);
      const run = kept.task.run && this.#runs.get(kept.task.run.id);
      if (run) insert(run.tasks, kept);
    }
  }

  #candidates(
    at: number,
    { among, runId }: Pick<TaskFilter, "among" | "runId">,
    after: ListCursor | undefined,
  ): Iterable<VersionedTask> {
    const from = after ?? startOf(at);
    if (among) {
      const named = [...new Set(among)].flatMap((id) => lifeAt(this.#tasks.get(id), at) ?? []);
      return newestFirst(
        named.sort((a, b) => byPlace(a.task, b.task)),
        ({ task }) => task,
        from,
      );
    }
    const run = runId === undefined ? undefined : lifeAt(this.#runs.get(runId), at);
    if (runId !== undefined && !run) return [];
    return newestFirst(run?.tasks ?? this.#taskOrder, ({ task }) => task, from);
  }

  /** Undefined where it is not there at that event, or another life of its id is. */
  #partsAt(kept: VersionedTask, at: number): RowParts | undefined {
    if (kept.since > at) return undefined;
    const latest = this.#tasks.get(kept.task.id);
    return latest === kept || lifeAt(latest, at) === kept ? partsAt(kept, at) : undefined;
  }
}

function lifeAt<Kept extends Life<Kept>>(latest: Kept | undefined, at: number): Kept | undefined {
  let life = latest;
  while (life && life.since > at) life = life.before;
  return life;
}

function partsAt(kept: VersionedTask | undefined, at: number): RowParts | undefined {
  if (!kept) return undefined;
  const { task, versions, usages, since } = kept;
  // The first of an alternative has a number of its own, and is there from the beginning.
  const progress = versions.findLast((version, place) => (place === 0 ? since <= at : version.seq <= at));
  invariant(progress, "a task that is there has come by something");
  return { task, progress, usage: usages?.findLast(({ seq }) => seq <= at)?.usage };
}

function runRowAt(run: VersionedRun | undefined, at: number): RunRow | undefined {
  if (!run || run.since > at) return undefined;
  return run.ended && run.ended.seq <= at ? run.ended.row : run.row;
}

/** Before it in the order of lists is all that had come by then, and little else. */
function startOf(at: number): ListCursor {
  return { submittedSeq: at + MOST_ALTERNATIVES, id: "" };
}

function byPlace(a: ListCursor, b: ListCursor): number {
  return a.submittedSeq - b.submittedSeq || compareText(a.id, b.id);
}

/** Nearly always at the end. */
function insert(order: VersionedTask[], kept: VersionedTask): void {
  let place = order.length;
  while (place > 0 && byPlace((order[place - 1] as VersionedTask).task, kept.task) > 0) place--;
  if (place === order.length) order.push(kept);
  else order.splice(place, 0, kept);
}

/** Those before a place, the last first. */
function* newestFirst<Kept>(
  order: readonly Kept[],
  placeOf: (kept: Kept) => ListCursor,
  before: ListCursor,
): Generator<Kept> {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (byPlace(placeOf(order[middle] as Kept), before) < 0) low = middle + 1;
    else high = middle;
  }
  for (let place = low; place-- > 0; ) yield order[place] as Kept;
}
