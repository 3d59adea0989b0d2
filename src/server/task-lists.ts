import type { Driver } from "../driver/index.ts";
import type { State } from "../scheduler/index.ts";
import {
  type ListCursor,
  ROW_STATUSES,
  type RowStatus,
  type ServiceStore,
  type TaskFilter,
  type TaskLine,
} from "../store/index.ts";
import type { Caller, ListFilter, Page, TaskLineView } from "./api.ts";
import { isOpen, newestFirst, openTasks, overlay, runningTasks, tierOf } from "./live-task.ts";
import { explainEscalated } from "./no-winner.ts";

/** So many tasks of the state are looked through to list those of a caller. */
const MAX_LOOKED_THROUGH = 5_000;

/** Lists of tasks: rows, with what the state knows better of those that are open. */
export class TaskLists {
  readonly #driver: Pick<Driver, "read" | "timeOfDay">;
  readonly #store: Pick<ServiceStore, "tasks">;

  constructor(driver: Pick<Driver, "read" | "timeOfDay">, store: Pick<ServiceStore, "tasks">) {
    this.#driver = driver;
    this.#store = store;
  }

  async page(
    caller: Caller,
    { statuses, agent: asked, ...rest }: ListFilter,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<Page<TaskLineView>> {
    const agent = caller.isZoneAdmin ? asked : caller.agent;
    const filter: TaskFilter = { ...rest, zone: caller.zone, ...(agent !== undefined && { agent }) };
    const wanted = statuses && new Set(statuses);
    const found = await this.#found(filter, wanted, after, limit + 1);
    const items = await explainEscalated(this.#store, found.slice(0, limit));
    return { items, next: found.length > limit ? cursorOf(items.at(-1)) : undefined };
  }

  /** All that are open, where they are few enough to be told from the state; undefined: they are not. */
  async openOnes(
    caller: Caller,
    { statuses = [], agent: asked, priorityClass: _class, waitedMs: _waited, ...rest }: ListFilter,
    after: ListCursor | undefined,
  ): Promise<TaskLineView[] | undefined> {
    const agent = caller.isZoneAdmin ? asked : caller.agent;
    const filter: TaskFilter = { ...rest, zone: caller.zone, ...(agent !== undefined && { agent }) };
    const wanted = new Set(statuses);
    const names = await this.#driver.read((state) =>
      namesIn(state, filter, wanted, after, MAX_LOOKED_THROUGH),
    );
    return names && (await this.#listed({ ...filter, among: names }, wanted, after, MAX_LOOKED_THROUGH));
  }

  async #found(
    filter: TaskFilter,
    wanted: ReadonlySet<RowStatus> | undefined,
    after: ListCursor | undefined,
    count: number,
  ): Promise<TaskLineView[]> {
    if (!wanted || ROW_STATUSES.every((status) => wanted.has(status)))
      return await this.#listed(filter, undefined, after, count);
    const names = [...wanted].some(isOpen)
      ? await this.#driver.read((state) => namesIn(state, filter, wanted, after, count))
      : undefined;
    return names
      ? await this.#openAndEnded({ ...filter, among: names }, wanted, after, count)
      : await this.#listed(filter, wanted, after, count);
  }

  /** The open ones of those that are named, and those that ended. */
  async #openAndEnded(
    { among, ...filter }: TaskFilter & Required<Pick<TaskFilter, "among">>,
    wanted: ReadonlySet<RowStatus>,
    after: ListCursor | undefined,
    count: number,
  ): Promise<TaskLineView[]> {
    const open = new Set([...wanted].filter(isOpen));
    const ended = new Set([...wanted].filter((status) => !isOpen(status)));
    const found = await this.#listed({ ...filter, among }, open, after, count);
    if (ended.size > 0) found.push(...(await this.#listed(filter, ended, after, count)));
    return found.sort(newestFirst).slice(0, count);
  }

  /** From the rows. One says queued until its task has run for a second, so where it stands is asked of the state. */
  async #listed(
    filter: TaskFilter,
    wanted: ReadonlySet<RowStatus> | undefined,
    after: ListCursor | undefined,
    count: number,
  ): Promise<TaskLineView[]> {
    const statuses = wanted && [...wanted];
    if (wanted?.has("queued") && !wanted.has("running")) statuses?.push("running");
    // A row that says queued may be of a task that runs.
    else if (filter.among && !wanted?.has("queued")) statuses?.push("queued");
    const found: TaskLineView[] = [];
    for (let cursor = after; ; ) {
      const lines = await this.#store.tasks({ ...filter, ...(statuses && { statuses }) }, cursor, count);
      const views = await this.views(lines);
      found.push(...views.filter(({ status }) => !wanted || wanted.has(status)));
      if (lines.length < count || found.length >= count) return found;
      cursor = cursorOf(lines.at(-1));
    }
  }

  /** Rows, as the state has those that are open. */
  views(lines: readonly TaskLine[]): Promise<TaskLineView[]> {
    return this.#driver.read((state) =>
      lines.map((line) => {
        const { result: _, ...live } = (isOpen(line.status) && overlay(state, line)) || {};
        return { ...line, ...live, effectiveTier: tierOf(state, line, this.#driver.timeOfDay()) };
      }),
    );
  }
}

export function cursorOf(
  item: { readonly submittedSeq: number; readonly id: string } | undefined,
): ListCursor | undefined {
  return item && { submittedSeq: item.submittedSeq, id: item.id };
}

/**
 * What is open is found in the state where it is little: among the rows it might stand behind millions that ended. So is
 * what runs, which might stand behind a million that wait.
 */
function namesIn(
  state: State,
  filter: TaskFilter,
  wanted: ReadonlySet<RowStatus>,
  after: ListCursor | undefined,
  count: number,
): string[] | undefined {
  const names = openTasks(state, filter, MAX_LOOKED_THROUGH);
  return names ?? (wanted.has("queued") ? undefined : runningTasks(state, filter, after, count));
}
