import { registrationBytes, type Worker, type WorkerSpec } from "../placement/index.ts";
import type { State } from "../scheduler/index.ts";
import { formatBytes } from "../words/index.ts";
import type { RegistrationRefusal } from "./api.ts";

/** The parts of `queue.backlog_size` that the registrations of all workers, and of those with one key, may take besides. */
const PART = 1 / 4;
const PART_OF_KEY = 1 / 8;

/** Returns the refusal if there is no memory for this registration, which replaces that of `known`. */
export function overweight(
  { config, fleet }: State,
  spec: WorkerSpec,
  known?: Worker,
): RegistrationRefusal | undefined {
  const size = config.backlogBytes ?? Number.POSITIVE_INFINITY;
  const bytes = registrationBytes(spec) - (known ? registrationBytes(known.spec) : 0);
  const { registered } = fleet;
  const refusal = (whose: string, held: number, most: number): RegistrationRefusal => {
    const limit = `at most ${formatBytes(most)} is allowed (by queue.backlog_size)`;
    const hint = "stop some, or register fewer types";
    return {
      refused: "backlog",
      message: `the registrations of ${whose} hold ${formatBytes(held)} of memory, and ${limit}; ${hint}`,
    };
  };
  const ofKey = registered.of(spec.key);
  if (ofKey + bytes > size * PART_OF_KEY && bytes > 0)
    return refusal("workers with this key", ofKey, size * PART_OF_KEY);
  if (registered.reachable + bytes > size * PART && bytes > 0)
    return refusal("all workers", registered.reachable, size * PART);
  return undefined;
}
