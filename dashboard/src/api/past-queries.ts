import {
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from "@tanstack/react-query";
import type {
  InstantAnswer,
  LedgerEventAnswer,
  LedgerEventsAnswer,
  MomentsAnswer,
  PlacementAnswer,
  ReplayAnswer,
} from "../../../src/protocol/api-schemas.ts";
import { useMoment } from "./moment.ts";
import { get } from "./request.ts";

/** How often the end of the ledger is looked for while the bar is open and the present shown. */
const GROWS_MS = 3000;
const BUCKETS = 240;
const PAGE = 200;
/** What nobody scrolls through: a jump is sooner there. */
const MOST_PAGES = 200;

/** How much happened when, over all of the ledger. */
export function useMoments(): UseQueryResult<MomentsAnswer> {
  const isNow = useMoment() === undefined;
  return useQuery({
    queryKey: ["moments"],
    queryFn: ({ signal }) => get<MomentsAnswer>("/ledger/moments", { query: { buckets: BUCKETS }, signal }),
    refetchInterval: isNow ? GROWS_MS : false,
    staleTime: 0,
  });
}

/** The event that a moment is the state after; undefined before the first. */
export function useEventAt(seq: number | undefined): UseQueryResult<LedgerEventAnswer | null> {
  return useQuery({
    queryKey: ["event-at", {}, seq],
    queryFn: async ({ signal }) => {
      const query = { after: (seq ?? 1) - 1, limit: 1 };
      const { events } = await get<LedgerEventsAnswer>("/ledger/events", { query, signal });
      return events[0] ?? null;
    },
    enabled: seq !== undefined && seq > 0,
  });
}

export type EventPages = UseInfiniteQueryResult<LedgerEventAnswer[]>;

/** Events up to one, newest first; undefined: up to the last. */
export function useEventPages(upTo: number | undefined, kind: string): EventPages {
  return useInfiniteQuery({
    queryKey: ["ledger-events", { kind }, upTo],
    queryFn: ({ pageParam: before, signal }) =>
      get<LedgerEventsAnswer>("/ledger/events", {
        query: { before, limit: PAGE, kind: kind === "" ? undefined : kind },
        signal,
      }),
    initialPageParam: upTo === undefined ? Number.MAX_SAFE_INTEGER : upTo + 1,
    getNextPageParam: ({ events }, pages) =>
      events.length === PAGE && pages.length < MOST_PAGES ? events.at(-1)?.seq : undefined,
    select: ({ pages }) => pages.flatMap(({ events }) => events),
  });
}

export function usePlacement(id: string, attempt: number, enabled: boolean): UseQueryResult<PlacementAnswer> {
  const at = useMoment();
  return useQuery({
    queryKey: ["placement", { id, attempt }, at],
    queryFn: ({ signal }) =>
      get<PlacementAnswer>(`/task/${encodeURIComponent(id)}/placement`, { query: { at, attempt }, signal }),
    enabled,
  });
}

/** The next event about a task in a direction; undefined: there is none. */
export async function nextAbout(task: string, from: number, isLater: boolean): Promise<number | undefined> {
  const query = isLater ? { task, after: from, limit: 1 } : { task, before: from, limit: 1 };
  const { events } = await get<LedgerEventsAnswer>("/ledger/events", { query });
  return events[0]?.seq;
}

/** The last event at a time or before it. */
export async function seqAt(time: Date): Promise<number> {
  return (await get<InstantAnswer>("/ledger/at", { query: { time: time.toISOString() } })).seq;
}

export function replay(signal: AbortSignal): Promise<ReplayAnswer> {
  return get<ReplayAnswer>("/ledger/replay", { signal });
}
