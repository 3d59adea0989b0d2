import { useMoment } from "../api/moment.ts";
import type { FeedState } from "../live/feed.ts";
import { useLive } from "../live/live.ts";

const SAYS: Readonly<Record<FeedState, string>> = {
  connecting: "What is shown is as it was asked for; the connection for changes is being made.",
  live: "Changes are shown as they happen.",
  reconnecting: "The connection was lost; it comes back by itself, and nothing is missed.",
  offline: "The server does not answer. What is shown may be old; it is tried again.",
  paused: "Nobody looks, so nothing is asked.",
};

/** Whether what is shown is what is. */
export function LiveBadge() {
  const { state } = useLive();
  const at = useMoment();
  if (at !== undefined)
    return (
      <span className="live" data-state="past" role="status">
        past
      </span>
    );
  return (
    <span className="live" data-state={state} role="status" title={SAYS[state]}>
      {state}
    </span>
  );
}
