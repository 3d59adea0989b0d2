import type { WorkerSpec } from "./worker.ts";

/** Estimated heap, in bytes, of a worker without names: the worker, its session and its places in indexes. */
const WORKER_BYTES = 6_000;
const NAME_BYTES = 32;

/**
 * Returns an estimate, in bytes, of the heap that a registration takes. It depends on nothing but the registration, so that every
 * server that replays the ledger counts the same.
 */
export function registrationBytes({
  id,
  endpoint,
  zone,
  zones,
  executors,
  capabilities,
}: WorkerSpec): number {
  // Indexes repeat names. A character beyond Latin-1 takes two bytes in each place.
  let bytes = WORKER_BYTES + 3 * (id.length + zone.length + endpoint.length);
  for (const names of [zones, executors, capabilities])
    for (const name of names) bytes += NAME_BYTES + 3 * name.length;
  return bytes;
}

/**
 * Counts the reachable workers by API key and by home zone, and the bytes of registrations. The numbers are sums over the
 * workers of the fleet. They are in no snapshot, and are the same after a replay or a restore.
 */
export class Registrations {
  /** Estimated bytes of the registrations of reachable workers. */
  bytes = 0;
  /** Estimated bytes of the registrations of lost workers that are not forgotten. */
  lostBytes = 0;
  /** Reachable workers, and the bytes of their registrations, by the API key that they came with. */
  readonly byKey: Map<string, number> = new Map();
  readonly bytesByKey: Map<string, number> = new Map();
  readonly byZone: Map<string, number> = new Map();

  /** Counts a reachable worker. */
  enter(spec: WorkerSpec): void {
    this.#count(spec, 1);
  }

  /** Counts a reachable worker as lost. */
  lose(spec: WorkerSpec): void {
    this.#count(spec, -1);
    this.lostBytes += registrationBytes(spec);
  }

  /** Stops counting the old registration of a worker that registers again. */
  replace(spec: WorkerSpec, wasReachable: boolean): void {
    if (wasReachable) this.#count(spec, -1);
    else this.forget(spec);
  }

  /** Stops counting a lost worker. */
  forget(spec: WorkerSpec): void {
    this.lostBytes -= registrationBytes(spec);
  }

  #count(spec: WorkerSpec, by: 1 | -1): void {
    const bytes = by * registrationBytes(spec);
    this.bytes += bytes;
    add(this.byZone, spec.zone, by);
    if (spec.key === undefined) return;
    add(this.byKey, spec.key, by);
    add(this.bytesByKey, spec.key, bytes);
  }
}

/** Deletes a name whose count becomes 0, so that names that come and go leave nothing. */
function add(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
