import { type UseInfiniteQueryResult, useInfiniteQuery } from "@tanstack/react-query";
import type { TaskPage, TaskSummary } from "../../../src/protocol/api-schemas.ts";
import { useMoment } from "./moment.ts";
import { get } from "./request.ts";

const PAGE = 100;
/** What nobody scrolls through: a narrower filter finds it sooner. */
const MOST_PAGES = 100;

export type TaskPages = UseInfiniteQueryResult<TaskSummary[]>;

/** Tasks that fit a filter, newest first, as far as they were scrolled to. */
export function useTaskPages(filter: string, enabled: boolean): TaskPages {
  const at = useMoment();
  return useInfiniteQuery({
    queryKey: ["tasks", { filter }, at],
    queryFn: ({ pageParam: cursor, signal }) =>
      get<TaskPage>("/tasks", { query: { filter: filter || undefined, limit: PAGE, cursor, at }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }, pages) => (pages.length < MOST_PAGES ? (next ?? undefined) : undefined),
    select: ({ pages }) => withoutDoubles(pages.flatMap(({ tasks }) => tasks)),
    placeholderData: (before) => before,
    enabled,
  });
}

/** A task that ended while two pages were asked for may be on both. */
function withoutDoubles(tasks: readonly TaskSummary[]): TaskSummary[] {
  return [...new Map(tasks.map((task) => [task.id, task])).values()];
}
