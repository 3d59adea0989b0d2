import { setTimeout as sleep } from "node:timers/promises";
import { carriedValue } from "./carried-value.ts";
import { type Handlers, task } from "./handler.ts";

/** Task types that every worker knows. They resolve when done and throw what went wrong. */
export const BUILT_IN: Readonly<
  Record<string, (payload: unknown, context: { readonly signal: AbortSignal }) => Promise<unknown>>
> = {
  noop: async () => {},
  sleep: async (payload, { signal }) => {
    const ms = (payload as { readonly ms?: unknown } | null)?.ms;
    if (typeof ms !== "number" || !(ms >= 0 && ms < 2 ** 31)) {
      throw new TypeError("payload.ms must be a number of milliseconds from 0 to 2147483647");
    }
    await sleep(ms, undefined, { signal });
  },
  /** Its payload is its result. */
  echo: async (payload) => payload,
};

export const BUILT_IN_HANDLERS: Handlers = {
  ...Object.fromEntries(Object.entries(BUILT_IN).map(([type, run]) => [type, task(run)])),
  value: task<{ readonly args?: unknown }>(({ args }) => carriedValue(args)),
};

/** Task types that graphs rely on, by what needs them: a function of that name would be called in their place. */
export const RESERVED: ReadonlyMap<string, string> = new Map([
  ["value", "g.value()"],
  ["command", "nodes with `run`"],
]);
