import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: number | undefined;
/** Where it stands still: at the moment that is looked at. */
let moment: number | undefined;

/** The time, anew every second, the same for all who look; in the past the time of then. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => moment ?? now);
}

/** Shows a moment as if it was now; undefined: the time goes on. */
export function standAt(ms: number | undefined): void {
  if (moment === ms) return;
  moment = ms;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    // Nobody has looked at it for a while.
    now = Date.now();
    timer = window.setInterval(tick, 1000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}
