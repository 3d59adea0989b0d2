import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type {
  HistoryAnswer,
  LedgerHeadAnswer,
  LogAnswer,
  OverviewAnswer,
  TaskAnswer,
  WhoAnswer,
  WhyAnswer,
} from "../../../src/protocol/api-schemas.ts";
import { useMoment } from "./moment.ts";
import { get } from "./request.ts";

interface Looked {
  /** For what changes without an event: what is measured over time, and what workers say between events. */
  readonly everyMs?: number | false;
  readonly enabled?: boolean;
}

/** Looks at something; `live/touched.ts` says by its kind which events change it. */
export function useLook<Answer>(
  kind: string,
  path: string,
  what: { readonly id?: string } = {},
  { everyMs = false, enabled = true }: Looked = {},
): UseQueryResult<Answer> {
  const at = useMoment();
  return useQuery({
    queryKey: [kind, what, at],
    queryFn: ({ signal }) => get<Answer>(path, { query: { at }, signal }),
    refetchInterval: at === undefined ? everyMs : false,
    enabled,
  });
}

export function useOverview(): UseQueryResult<OverviewAnswer> {
  // Rates and waits go on when nothing happens.
  return useLook<OverviewAnswer>("overview", "/overview", {}, { everyMs: 2000 });
}

export function useCaller(): UseQueryResult<WhoAnswer> {
  return useQuery({
    queryKey: ["caller"],
    queryFn: ({ signal }) => get<WhoAnswer>("/whoami", { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether whoever looks may do what needs this scope; false until that is known. */
export function useMay(scope: "admin" | "operator"): boolean {
  const { data: caller } = useCaller();
  return caller?.scopes.includes(scope) ?? false;
}

/** What workers say between events, their progress and what they print, is asked for while they run. */
const RUNNING_MS = 1000;

export function useTask(id: string): UseQueryResult<TaskAnswer> {
  const at = useMoment();
  return useQuery({
    queryKey: ["task", { id }, at],
    queryFn: ({ signal }) => get<TaskAnswer>(`/task/${encodeURIComponent(id)}`, { query: { at }, signal }),
    refetchInterval: ({ state }) =>
      state.data?.status === "running" && at === undefined ? RUNNING_MS : false,
  });
}

export function useWhy(id: string): UseQueryResult<WhyAnswer> {
  return useLook<WhyAnswer>("why", `/task/${encodeURIComponent(id)}/why`, { id });
}

export function useHistory(id: string): UseQueryResult<HistoryAnswer> {
  return useLook<HistoryAnswer>("history", `/task/${encodeURIComponent(id)}/events`, { id });
}

export function useLog(id: string, isRunning: boolean): UseQueryResult<LogAnswer> {
  const path = `/task/${encodeURIComponent(id)}/log`;
  return useLook<LogAnswer>("log", path, { id }, { everyMs: isRunning && RUNNING_MS });
}

/** The ledger spans all zones, so it is for operators. Its end is always that of now. */
export function useLedgerHead(): UseQueryResult<LedgerHeadAnswer> {
  return useQuery({
    queryKey: ["ledger"],
    queryFn: ({ signal }) => get<LedgerHeadAnswer>("/ledger/head", { signal }),
    refetchInterval: 1000,
    enabled: useMay("operator"),
  });
}
