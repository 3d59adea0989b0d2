import type { Driver } from "../driver/index.ts";
import {
  type FoundTasks,
  type ListCursor,
  type RowStatus,
  type ServiceStore,
  type TaskSearch,
  waitedMs,
} from "../store/index.ts";
import type { Caller, ListFilter, Page, TaskLineView } from "./api.ts";
import { isOpen, newestFirst } from "./live-task.ts";
import { cursorOf, type TaskLists } from "./task-lists.ts";

/** How many are looked at first, and how many at once at most where few fit. */
const FIRST_LOOK = 1_000;
const LONGEST_LOOK = 64_000;
/** Whoever asks is answered after this long with what was found, and where to go on. */
const LOOK_FOR_MS = 250;

/**
 * Lists of tasks by what no index knows. They look through tasks, newest first, for a bounded time: a page may hold
 * few tasks, or none, and still say where the next one begins.
 */
export class TaskSearches {
  readonly #driver: Pick<Driver, "read" | "timeOfDay">;
  readonly #store: Pick<ServiceStore, "findTasks">;
  readonly #lists: TaskLists;

  constructor(
    driver: Pick<Driver, "read" | "timeOfDay">,
    store: Pick<ServiceStore, "findTasks">,
    lists: TaskLists,
  ) {
    this.#driver = driver;
    this.#store = store;
    this.#lists = lists;
  }

  async page(
    caller: Caller,
    filter: ListFilter,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<Page<TaskLineView>> {
    const search = this.#searchOf(caller, filter);
    const open = await this.#openOnes(caller, filter, search, after);
    const wanted = open ? (filter.statuses ?? ENDED).filter((status) => !isOpen(status)) : filter.statuses;
    const { lines, lookedTo } = await this.#through({ ...search, ...asked(wanted) }, after, limit + 1);
    const ended = await this.#lists.views(lines);
    const found = [...ended.filter((line) => isStill(line, filter.statuses)), ...(open ?? [])]
      .filter((line) => !lookedTo || newestFirst(line, lookedTo) <= 0)
      .sort(newestFirst);
    const items = found.slice(0, limit);
    return { items, next: found.length > limit ? cursorOf(items.at(-1)) : lookedTo };
  }

  /** How many there are, as far as that can be said in a moment; where rows lag behind, by a second at most, they count. */
  async count(
    caller: Caller,
    filter: ListFilter,
    after: ListCursor | undefined,
  ): Promise<{ readonly count: number; readonly next: ListCursor | undefined }> {
    const search = this.#searchOf(caller, filter);
    const open = await this.#openOnes(caller, filter, search, after);
    const wanted = open ? (filter.statuses ?? ENDED).filter((status) => !isOpen(status)) : filter.statuses;
    const { fitting, lookedTo } = await this.#through({ ...search, ...asked(wanted) }, after, 0);
    const inReach = open?.filter((line) => !lookedTo || newestFirst(line, lookedTo) <= 0) ?? [];
    return { count: fitting + inReach.length, next: lookedTo };
  }

  #searchOf(caller: Caller, { statuses: _, agent: asked, ...rest }: ListFilter): TaskSearch {
    const agent = caller.isZoneAdmin ? asked : caller.agent;
    return {
      ...rest,
      zone: caller.zone,
      now: this.#driver.timeOfDay(),
      ...(agent !== undefined && { agent }),
    };
  }

  /** Where few are open they are found in the state, all of them; undefined where they are many, or not asked for. */
  async #openOnes(
    caller: Caller,
    filter: ListFilter,
    search: TaskSearch,
    after: ListCursor | undefined,
  ): Promise<TaskLineView[] | undefined> {
    const statuses = (filter.statuses ?? OPEN).filter(isOpen);
    if (statuses.length === 0) return undefined;
    const found = await this.#lists.openOnes(caller, { ...filter, statuses }, after);
    return found?.filter((line) => fits(line, search));
  }

  /** Looks at more and more, until enough were found, nothing is left, or it takes too long. */
  async #through(search: TaskSearch, after: ListCursor | undefined, limit: number): Promise<FoundTasks> {
    if (search.statuses?.length === 0) return { lines: [], fitting: 0, lookedTo: undefined };
    const untilMs = performance.now() + LOOK_FOR_MS;
    const lines: FoundTasks["lines"][number][] = [];
    let fitting = 0;
    let from = after;
    for (let look = FIRST_LOOK; ; ) {
      const startedMs = performance.now();
      const part = await this.#store.findTasks(search, from, Math.max(0, limit - lines.length), look);
      lines.push(...part.lines);
      fitting += part.fitting;
      from = part.lookedTo;
      const isEnough = limit > 0 && lines.length >= limit;
      const endedMs = performance.now();
      if (!from || isEnough || endedMs > untilMs)
        return { lines, fitting, lookedTo: isEnough ? cursorOf(lines.at(-1)) : from };
      look = nextLook(look, endedMs - startedMs, untilMs - endedMs);
    }
  }
}

/** As many as can be looked at in the time that is left, by how long the last took. */
function nextLook(looked: number, tookMs: number, leftMs: number): number {
  const possible = Math.round((looked * leftMs) / Math.max(1, tookMs));
  return Math.min(Math.max(possible, FIRST_LOOK), 4 * looked, LONGEST_LOOK);
}

const OPEN: readonly RowStatus[] = ["queued", "running"];
const ENDED: readonly RowStatus[] = ["completed", "failed", "cancelled"];

/** Rows lag behind in which of the open statuses they have. */
function asked(statuses: readonly RowStatus[] | undefined): Pick<TaskSearch, "statuses"> {
  if (!statuses) return {};
  return { statuses: statuses.some(isOpen) ? [...new Set([...statuses, ...OPEN])] : statuses };
}

function isStill({ status }: TaskLineView, statuses: readonly RowStatus[] | undefined): boolean {
  return statuses === undefined || statuses.includes(status);
}

function fits(line: TaskLineView, { priorityClass, waitedMs: asked, now }: TaskSearch): boolean {
  const waited = waitedMs(line, now);
  return (
    (priorityClass === undefined || line.priorityClass === priorityClass) &&
    waited >= (asked?.min ?? Number.NEGATIVE_INFINITY) &&
    waited <= (asked?.max ?? Number.POSITIVE_INFINITY)
  );
}
