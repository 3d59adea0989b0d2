import { useMoment } from "./moment.ts";
import { useCaller } from "./queries.ts";

/** Why whoever looks can change no task here; undefined: they can, as far as is known. */
export function useBarrier(): string | undefined {
  const isPast = useMoment() !== undefined;
  const { data: caller } = useCaller();
  if (isPast) return "The past cannot be changed; go back to now.";
  return caller && !caller.scopes.includes("submit") ? "This needs a key with the scope submit." : undefined;
}
