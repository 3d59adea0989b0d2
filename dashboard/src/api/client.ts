import { keepPreviousData, QueryCache, QueryClient } from "@tanstack/react-query";
import { Refused } from "./request.ts";

/** Whoever moves through the past sees many moments once. */
const KEPT_MS = 60_000;
/** After which a server that did not answer is asked again for what is still looked at. */
const ASK_AGAIN_MS = 2000;

export const client = new QueryClient({
  queryCache: new QueryCache({
    onError(error, query) {
      if (!(error instanceof Refused) || error.status !== 0) return;
      window.setTimeout(() => {
        // What it says next is in the query's state.
        if (query.isActive() && query.state.status === "error") query.fetch().catch(() => {});
      }, ASK_AGAIN_MS);
    },
  }),
  defaultOptions: {
    queries: {
      // Whatever changes is told by the event stream.
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: "always",
      retry: (failures, error) =>
        isBuilding(error) || (failures < 3 && !(error instanceof Refused && isFinal(error.status))),
      // Another moment of the same thing: what was seen stays until it is there.
      placeholderData: keepPreviousData,
      gcTime: KEPT_MS,
      retryDelay: 300,
    },
    mutations: {
      networkMode: "always",
      retry: (_, error) => isBuilding(error),
      retryDelay: 300,
    },
  },
});

/** The past takes its time to be replayed, and says how far it is. */
function isBuilding(error: Error): boolean {
  return error instanceof Refused && error.progress !== undefined;
}

function isFinal(status: number): boolean {
  return status >= 400 && status < 500;
}
