import { bringMicros, busyMicros, couldEverRun, DEFAULT_RATES, type Needs } from "../placement/index.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";

/** How long it takes to make a root, and to bring its result to another worker, in microseconds. */
export interface RootCosts {
  readonly makeMicros: number;
  readonly moveMicros: number;
}

/** What it is weighed by who makes which roots. */
export interface Outlook {
  /** Whether a worker takes roots of the kind. */
  takes(worker: number): boolean;
  /** How long a worker is still busy with what it has, in microseconds. */
  busyMicros(worker: number): number;
  /** Undefined for a root that has not been made. */
  costsOf(root: number): RootCosts | undefined;
}

export function outlookOf(state: State, run: Run, needs: Needs, now: number): Outlook {
  const rates = state.config.transferRates ?? DEFAULT_RATES;
  return {
    takes: (number) => {
      const worker = state.worker(number);
      return state.fleet.isOpen(worker) && couldEverRun(worker, needs);
    },
    busyMicros: (number) => busyMicros(state.worker(number), now),
    costsOf: (root) => {
      const makeMicros = run.data?.times.get(run.taskOf(root).type);
      if (makeMicros === undefined || run.statusOf(root) !== Status.completed) return undefined;
      return {
        makeMicros,
        moveMicros: bringMicros({ count: 1, bytes: run.resultBytes[root] as number }, rates),
      };
    },
  };
}
