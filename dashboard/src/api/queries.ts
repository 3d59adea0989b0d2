import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { OverviewAnswer, WhoAnswer } from "../../../src/protocol/api-schemas.ts";
import { useMoment } from "./moment.ts";
import { get, type Query } from "./request.ts";

interface Looked {
  /** For what changes without an event: what is measured over time, and what workers say between events. */
  readonly everyMs?: number | false;
  readonly enabled?: boolean;
}

/** Looks at something; `live/touched.ts` says by its kind which events change it. */
function useLook<Answer>(
  kind: string,
  path: string,
  what: Query = {},
  { everyMs = false, enabled = true }: Looked = {},
): UseQueryResult<Answer> {
  const at = useMoment();
  return useQuery({
    queryKey: [kind, { path, ...what }, at],
    queryFn: ({ signal }) => get<Answer>(path, { query: { ...what, at }, signal }),
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
