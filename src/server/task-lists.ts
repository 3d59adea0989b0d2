import type { Driver } from "../driver/index.ts";
import type { ListCursor, RowStatus, ServiceStore, TaskFilter, TaskLine, TaskRow } from "../store/index.ts";
import type { Caller, ListFilter, Page, TaskLineView } from "./api.ts";
import { isOpen, newestFirst, overlay, runningTasks, tierOf } from "./live-task.ts";

/** Lists of tasks: rows, with what the state knows better of those that are open. */
export class TaskLists {
  readonly #driver: Driver;
  readonly #store: Pick<ServiceStore, "task" | "tasks">;

  constructor(driver: Driver, store: Pick<ServiceStore, "task" | "tasks">) {
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
    const found =
      wanted?.has("running") && !wanted.has("queued")
        ? await this.#runningAndEnded(filter, wanted, after, limit + 1)
        : await this.#listed(filter, wanted, after, limit + 1);
    const items = found.slice(0, limit);
    return { items, next: found.length > limit ? cursorOf(items.at(-1)) : undefined };
  }

  /** From the rows. One says queued until its task has run for a second, so where it stands is asked of the state. */
  async #listed(
    filter: TaskFilter,
    wanted: ReadonlySet<RowStatus> | undefined,
    after: ListCursor | undefined,
    count: number,
  ): Promise<TaskLineView[]> {
    const statuses = wanted?.has("queued")
      ? [...new Set<RowStatus>([...wanted, "running"])]
      : wanted && [...wanted];
    const found: TaskLineView[] = [];
    for (let cursor = after; ; ) {
      const lines = await this.#store.tasks({ ...filter, ...(statuses && { statuses }) }, cursor, count);
      const views = await this.#lineViews(lines);
      found.push(...views.filter(({ status }) => !wanted || wanted.has(status)));
      if (lines.length < count || found.length >= count) return found;
      cursor = cursorOf(lines.at(-1));
    }
  }

  /** What runs is found in the state: among the rows it might stand behind a million that wait. */
  async #runningAndEnded(
    filter: TaskFilter,
    wanted: ReadonlySet<RowStatus>,
    after: ListCursor | undefined,
    count: number,
  ): Promise<TaskLineView[]> {
    const names = await this.#driver.read((state) => runningTasks(state, filter, after, count));
    const rows = await Promise.all(names.map((id) => this.#store.task(id)));
    const running = await this.#lineViews(rows.filter((row) => row !== undefined).map(lineOf));
    const statuses = [...wanted].filter((status) => status !== "running");
    const ended = statuses.length > 0 ? await this.#listed(filter, new Set(statuses), after, count) : [];
    return [...running.filter(({ status }) => status === "running"), ...ended]
      .sort(newestFirst)
      .slice(0, count);
  }

  #lineViews(lines: readonly TaskLine[]): Promise<TaskLineView[]> {
    return this.#driver.read((state) =>
      lines.map((line) => {
        const { result: _, ...live } = (isOpen(line.status) && overlay(state, line)) || {};
        return { ...line, ...live, effectiveTier: tierOf(state, line, this.#driver.now()) };
      }),
    );
  }
}

export function cursorOf(
  item: { readonly submittedSeq: number; readonly id: string } | undefined,
): ListCursor | undefined {
  return item && { submittedSeq: item.submittedSeq, id: item.id };
}

function lineOf({ payload: _, result: __, settings: ___, ...line }: TaskRow): TaskLine {
  return line;
}
