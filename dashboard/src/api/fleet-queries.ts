import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { AttemptsAnswer, WorkersAnswer } from "../../../src/protocol/api-schemas.ts";
import { type Attempts, merged } from "./attempts.ts";
import { useMoment } from "./moment.ts";
import { useLook } from "./queries.ts";
import { get, post } from "./request.ts";

/** What no event tells, such as a worker that comes or drains, is asked for while it is looked at. */
const QUIET_MS = 1000;

export function useWorkers(): UseQueryResult<WorkersAnswer> {
  return useLook<WorkersAnswer>("workers", "/workers", {}, { everyMs: QUIET_MS });
}

/** An end may be committed a moment after the time that it has. */
const OVERLAP_MS = 3000;
const LIMIT = 5000;

/** What workers did lately: at first all that the server remembers, then what is new. */
export function useAttempts(): UseQueryResult<Attempts> {
  const at = useMoment();
  return useQuery({
    queryKey: ["attempts", {}, at],
    queryFn: async ({ client, queryKey, signal }) => {
      const known = client.getQueryData<Attempts>(queryKey);
      const since = known && known.now - OVERLAP_MS;
      const query = { since, limit: LIMIT, at };
      return merged(known, await get<AttemptsAnswer>("/attempts", { query, signal }), Date.now());
    },
    refetchInterval: at === undefined ? QUIET_MS : false,
    // Merging makes new objects anyway, and to compare thousands of them takes longer than to draw them.
    structuralSharing: false,
  });
}

export function drainWorker(id: string): Promise<unknown> {
  return post(`/workers/${encodeURIComponent(id)}/drain`);
}
