import type { Worker, WorkerSpec } from "./worker.ts";

/** A worker with its session, its places in the indexes, and its id, without other names. */
const WORKER_BYTES = 3_000;
const NAME_BYTES = 32;
/** Limit on the registrations of lost workers. Beyond it the workers that were lost first are forgotten. */
const MAX_LOST_BYTES = 4 * 2 ** 20;

/** Estimates of the memory that registrations take, kept up to date by the fleet. */
export class RegisteredBytes {
  /** Of all workers that can be reached. */
  reachable = 0;
  #lost = 0;
  readonly #ofKey = new Map<string, number>();

  /** Of the workers that can be reached and came with this key. */
  of(key: string | undefined): number {
    return this.#ofKey.get(key ?? "") ?? 0;
  }

  get hasTooManyLost(): boolean {
    return this.#lost > MAX_LOST_BYTES;
  }

  add(worker: Worker): void {
    this.#change(worker, registrationBytes(worker.spec));
  }

  /** Call before the status or the specification of the worker changes. */
  remove(worker: Worker): void {
    this.#change(worker, -registrationBytes(worker.spec));
  }

  #change({ status, spec: { key = "" } }: Worker, bytes: number): void {
    if (status === "Unreachable") {
      this.#lost += bytes;
      return;
    }
    this.reachable += bytes;
    const left = this.of(key) + bytes;
    if (left > 0) this.#ofKey.set(key, left);
    else this.#ofKey.delete(key);
  }
}

/** Returns the estimate for a registration. Indexes repeat its names. */
export function registrationBytes({ zones, executors, capabilities }: WorkerSpec): number {
  let bytes = WORKER_BYTES;
  for (const names of [zones, executors, capabilities])
    for (const name of names) bytes += NAME_BYTES + 3 * name.length;
  return bytes;
}
