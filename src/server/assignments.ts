import type { GivenAssignment } from "../protocol/index.ts";
import { isAway } from "../store/index.ts";
import { type DataTerms, resultsNeededBy } from "./data-terms.ts";
import type { Payloads } from "./payloads.ts";
import type { PlacedTask, PlacedTasks } from "./placed-tasks.ts";
import type { Results } from "./results.ts";
import type { Traces } from "./traces.ts";
import { givenAssignment, payloadIdOf } from "./worker-terms.ts";

const NO_PAYLOAD = "{}";
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8_000;

interface AssignmentsOptions {
  readonly payloads: Payloads;
  readonly results: Results;
  readonly data: DataTerms;
  readonly traces?: Pick<Traces, "of">;
  readonly warn: (message: string) => void;
}

interface Assignee {
  assign(assignments: readonly GivenAssignment[]): void;
}

/** Brings tasks to the workers that they were given to, with all that they need to run. */
export class Assignments {
  readonly #options: AssignmentsOptions;
  readonly #placed: Pick<PlacedTasks, "live">;
  readonly #assignee: (worker: number) => Assignee | undefined;

  constructor(
    options: AssignmentsOptions,
    placed: Pick<PlacedTasks, "live">,
    assignee: (worker: number) => Assignee | undefined,
  ) {
    this.#options = options;
    this.#placed = placed;
    this.#assignee = assignee;
  }

  /** While the store cannot be read, assignments wait: they are committed and stay so. */
  async send(tasks: readonly PlacedTask[], retryMs: number = FIRST_RETRY_MS): Promise<void> {
    const { payloads, results, data, traces, warn } = this.#options;
    const ids = tasks.map(payloadIdOf);
    const needed = resultsNeededBy(tasks);
    try {
      const known = payloads.atHand(ids) ?? (await payloads.of(ids));
      const made = results.atHand(needed) ?? (await results.read(needed));
      const byWorker = new Map<number, GivenAssignment[]>();
      for (let at = 0; at < tasks.length; at++) {
        const task = tasks[at] as PlacedTask;
        // It ended meanwhile, or was given to another.
        if (this.#placed.live(task.id) !== task) continue;
        const given = givenAssignment(task, known[at] || NO_PAYLOAD);
        if (task.inputs) given.data = data.of(task, task.inputs, made, given.payload);
        const trace = traces?.of(ids[at] as string, given.run);
        if (trace) Object.assign(given, trace);
        if (byWorker.get(task.worker)?.push(given) === undefined) byWorker.set(task.worker, [given]);
      }
      for (const [worker, given] of byWorker) this.#assignee(worker)?.assign(given);
    } catch (error) {
      // Later tries of the same tasks fail for the same reason.
      if (!isAway(error) && retryMs === FIRST_RETRY_MS) warn(`assignments wait: ${(error as Error).message}`);
      setTimeout(() => void this.send(tasks, Math.min(2 * retryMs, LONGEST_RETRY_MS)), retryMs).unref();
    }
  }
}
