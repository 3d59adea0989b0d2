import { bitsetOf } from "../core/index.ts";
import type { Worker } from "./worker.ts";

/** What a task needs of a worker. Tasks with equal needs are placed by one `Demand`. */
export interface Needs {
  readonly executor: string;
  readonly zone: string;
  readonly capabilities: readonly string[];
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** It mostly waits. */
  readonly io?: boolean | undefined;
}

/**
 * Needs, with what is known of the workers about them. The sets hold one bit per worker in the order of
 * ids. Who serves it changes when workers come; who has room for it changes with every assignment, so that
 * is brought up to date from the fleet's list of changes instead of being computed again.
 */
export class Demand {
  readonly needs: Needs;
  membership = -1;
  change = -1;
  serves: Uint32Array = bitsetOf(0);
  fitsCpu: Uint32Array = bitsetOf(0);
  fitsMemory: Uint32Array = bitsetOf(0);
  /** Workers that cannot serve it, by cause: executor, zone, capability. */
  readonly unsuited: [number, number, number] = [0, 0, 0];

  constructor(needs: Needs) {
    this.needs = needs;
  }
}

export function servesExecutor(worker: Worker, needs: Needs): boolean {
  return worker.spec.executors.includes(needs.executor);
}

export function servesZone(worker: Worker, needs: Needs): boolean {
  return worker.spec.zone === needs.zone || worker.spec.zones.includes(needs.zone);
}

export function hasCapabilities(worker: Worker, needs: Needs): boolean {
  return needs.capabilities.every((capability) => worker.spec.capabilities.includes(capability));
}

/** Whether the worker would run it beside its slots. */
export function takesNoSlot({ spec }: Worker, { io }: Pick<Needs, "io">): boolean {
  return io === true && spec.ioSlots !== undefined;
}

/** Whether a worker has room for one more, where so many may wait for a slot. */
export function hasPlace(
  worker: Pick<Worker, "spec" | "inSlots" | "io">,
  takesSlot: boolean,
  queue: number,
): boolean {
  const { spec, inSlots, io } = worker;
  return takesSlot ? inSlots < spec.slots + queue : io < (spec.ioSlots ?? 0);
}

/** Whether the worker could run it if it were empty. */
export function couldEverRun(worker: Worker, needs: Needs): boolean {
  return (
    servesExecutor(worker, needs) &&
    servesZone(worker, needs) &&
    hasCapabilities(worker, needs) &&
    worker.spec.cpuMillicores >= needs.cpuMillicores &&
    worker.spec.memoryBytes >= needs.memoryBytes
  );
}
