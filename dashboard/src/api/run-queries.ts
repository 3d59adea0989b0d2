import {
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from "@tanstack/react-query";
import type {
  RunAnswer,
  RunForecastAnswer,
  RunLine,
  RunPage,
  TaskAnswer,
} from "../../../src/protocol/api-schemas.ts";
import { useMoment } from "./moment.ts";
import { get, post } from "./request.ts";

const PAGE = 50;
/** What nobody scrolls through. */
const MOST_PAGES = 40;

/** Runs, newest first, as far as they were scrolled to. */
export function useRunPages(): UseInfiniteQueryResult<RunLine[]> {
  const at = useMoment();
  return useInfiniteQuery({
    queryKey: ["runs", {}, at],
    queryFn: ({ pageParam: cursor, signal }) =>
      get<RunPage>("/runs", { query: { limit: PAGE, cursor, at }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }, pages) => (pages.length < MOST_PAGES ? (next ?? undefined) : undefined),
    select: ({ pages }) => pages.flatMap(({ runs }) => runs),
  });
}

export function useRun(id: string): UseQueryResult<RunAnswer> {
  const at = useMoment();
  return useQuery({
    queryKey: ["run", { id }, at],
    queryFn: ({ signal }) => get<RunAnswer>(runPath(id), { query: { at }, signal }),
    placeholderData: (before) => before,
  });
}

/** What a plan of so many nodes takes is worth waiting for a little. */
const MANY = 2000;

/** When what remains should start and end. No event says that; it is asked for now and then. */
export function useForecast(
  id: string,
  { nodes, isOpen }: { readonly nodes: number; readonly isOpen: boolean },
): UseQueryResult<RunForecastAnswer> {
  const at = useMoment();
  return useQuery({
    queryKey: ["run-forecast", { id, isOpen }, at],
    queryFn: ({ signal }) =>
      get<RunForecastAnswer>(`${runPath(id)}/graph/forecast`, { query: { at }, signal }),
    refetchInterval: at === undefined && isOpen ? (nodes > MANY ? 15_000 : 2000) : false,
    enabled: isOpen,
    structuralSharing: false,
  });
}

/** The task of a node. */
export function useNode(runId: string, node: string): UseQueryResult<TaskAnswer> {
  const at = useMoment();
  return useQuery({
    queryKey: ["run-node", { id: runId, node }, at],
    queryFn: ({ signal }) =>
      get<TaskAnswer>(`${runPath(runId)}/nodes/${encodeURIComponent(node)}`, { query: { at }, signal }),
  });
}

export type RunAction = "cancel" | "release";

export function actOnRun(action: RunAction, id: string): Promise<unknown> {
  return post(`${runPath(id)}/${action}`);
}

export function runPath(id: string): string {
  return `/runs/${encodeURIComponent(id)}`;
}
