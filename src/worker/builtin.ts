import { setTimeout as sleep } from "node:timers/promises";

/** Task types that every worker knows. They resolve when done and throw what went wrong. */
export const BUILT_IN: Readonly<Record<string, (payload: unknown, signal: AbortSignal) => Promise<void>>> = {
  noop: async () => {},
  sleep: async (payload, signal) => {
    const ms = (payload as { readonly ms?: unknown } | null)?.ms;
    if (typeof ms !== "number" || !(ms >= 0 && ms < 2 ** 31)) {
      throw new TypeError("payload.ms must be a number of milliseconds from 0 to 2147483647");
    }
    await sleep(ms, undefined, { signal });
  },
};
