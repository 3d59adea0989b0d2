import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import type { EventData } from "../../../src/protocol/api-schemas.ts";
import { useMoment } from "../api/moment.ts";
import { useSession } from "../api/session.ts";
import { Feed, type FeedState } from "./feed.ts";
import { Touched } from "./touched.ts";

/** Whatever happens meanwhile is looked at once. */
const LOOK_EVERY_MS = 250;
const REMEMBERED = 200;
/** Of the time, asking for one thing takes at most a quarter. */
const REST = 3;

interface Live {
  readonly state: FeedState;
  /** Newest first. */
  readonly latest: readonly EventData[];
}

let live: Live = { state: "connecting", latest: [] };
const listeners = new Set<() => void>();

/** How the connection is, and what came by it lately. */
export function useLive(): Live {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => live,
  );
}

/** Keeps what is shown as the server has it, for as long as it is mounted and shows the present. */
export function useLiveUpdates(): void {
  const client = useQueryClient();
  const session = useSession();
  const isPast = useMoment() !== undefined;
  useEffect(() => (session && !isPast ? follow(client) : undefined), [client, session, isPast]);
}

function follow(client: QueryClient): () => void {
  const touched = new Touched();
  /** They were being asked when something changed, so their answer may be too old. */
  const again = new Set<Query>();
  const restUntil = new WeakMap<Query, number>();
  const askAgain = async (query: Query) => {
    const startedMs = performance.now();
    await client.invalidateQueries({ queryKey: query.queryKey, exact: true });
    const endedMs = performance.now();
    restUntil.set(query, endedMs + REST * (endedMs - startedMs));
  };
  let fresh: EventData[] = [];
  const feed = new Feed({
    onEvent: (event) => {
      touched.add(event);
      fresh.push(event);
    },
    onGap: () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "caller" }),
    onState: (state) => change({ ...live, state }),
  });
  const timer = window.setInterval(() => {
    if (touched.isEmpty && again.size === 0) return;
    if (fresh.length > 0) {
      const latest = [...fresh.reverse(), ...live.latest].slice(0, REMEMBERED);
      fresh = [];
      change({ ...live, latest });
    }
    const concerned = client
      .getQueryCache()
      .findAll({ predicate: (query) => touched.concerns(query.queryKey) });
    touched.clear();
    const due = new Set([...concerned, ...again]);
    again.clear();
    for (const query of due) {
      const isResting = (restUntil.get(query) ?? 0) > performance.now();
      if (isResting || query.state.fetchStatus === "fetching") again.add(query);
      else void askAgain(query);
    }
  }, LOOK_EVERY_MS);
  feed.start();
  return () => {
    window.clearInterval(timer);
    feed.stop();
  };
}

function change(next: Live): void {
  live = next;
  for (const listener of listeners) listener();
}
