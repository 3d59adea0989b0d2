import { registrationBytes, type Worker, type WorkerSpec } from "../placement/index.ts";
import type { State } from "../scheduler/index.ts";
import { countOf, formatBytes } from "../words/index.ts";
import type { RegistrationRefusal } from "./api.ts";

/** Bounds on the workers that are registered at a time. All of them are settings in `server`. */
export interface WorkerLimits {
  readonly workersPerKey: number;
  /** Workers whose home is one zone. */
  readonly workersPerZone: number;
  /** Estimated bytes of the registrations of all workers. `null` stands for a part of `queue.backlog_size`. */
  readonly registrationBytes: number | null;
}

export const WORKER_LIMITS: WorkerLimits = {
  workersPerKey: 2_500,
  workersPerZone: 5_000,
  registrationBytes: null,
};

/** The part of `registrationBytes` that workers with one key may take. */
const PART_OF_KEY = 1 / 2;

/** Silent workers are lost after a lease, so that there is room again at some time after this. */
const RETRY_AFTER_MS = 5_000;

/** Refuses registrations over the limits. Counts those as well that are on their way into the state. */
export class Admissions {
  readonly #limits: WorkerLimits & { readonly registrationBytes: number };
  readonly #coming = new Set<WorkerSpec>();

  constructor(limits: WorkerLimits & { readonly registrationBytes: number }) {
    this.#limits = limits;
  }

  /** Counts the registration until `settle`, unless it is refused. */
  admit(state: State, spec: WorkerSpec): RegistrationRefusal | undefined {
    const refusal = this.#refusal(state, spec);
    if (!refusal) this.#coming.add(spec);
    return refusal;
  }

  /** Stops counting a registration, which is in the state now or never will be. */
  settle(spec: WorkerSpec): void {
    this.#coming.delete(spec);
  }

  #refusal({ fleet }: State, spec: WorkerSpec): RegistrationRefusal | undefined {
    const { workersPerKey, workersPerZone, registrationBytes: most } = this.#limits;
    const known = here(fleet.named(spec.zone, spec.id));
    const coming = [...this.#coming].filter(
      ({ zone, id, endpoint }) => here(fleet.named(zone, id))?.spec.endpoint !== endpoint,
    );
    const ofKey = fleet.registrations.byKey.get(spec.key ?? "") ?? 0;
    const withKey = ofKey + coming.filter(({ key }) => key === spec.key).length;
    if (known?.spec.key !== spec.key && withKey >= workersPerKey)
      return refusal("rate-limit", "this API key", withKey, "workers_per_key");
    const inZone = fleet.registrations.byZone.get(spec.zone) ?? 0;
    const ofZone = inZone + coming.filter(({ zone }) => zone === spec.zone).length;
    if (!known && ofZone >= workersPerZone)
      return refusal("rate-limit", `the zone ${spec.zone}`, ofZone, "workers_per_zone");
    const asked = registrationBytes(spec) - (known ? registrationBytes(known.spec) : 0);
    if (asked <= 0) return undefined;
    const sum = (held: number, one: WorkerSpec) => held + registrationBytes(one);
    const bytesOfKey = fleet.registrations.bytesByKey.get(spec.key ?? "") ?? 0;
    const heldByKey = coming.filter(({ key }) => key === spec.key).reduce(sum, bytesOfKey);
    const mostOfKey = most * PART_OF_KEY;
    if (heldByKey + asked > mostOfKey) {
      const limit = `${formatBytes(mostOfKey)} (half of server.registrations)`;
      return overweight("rate-limit", "workers with this API key", heldByKey, limit);
    }
    const held = coming.reduce(sum, fleet.registrations.bytes);
    if (held + asked <= most) return undefined;
    return overweight("backlog", "all workers", held, `${formatBytes(most)} (server.registrations)`);
  }
}

function here(worker: Worker | undefined): Worker | undefined {
  return worker?.status === "Unreachable" ? undefined : worker;
}

function refusal(
  refused: RegistrationRefusal["refused"],
  whose: string,
  held: number,
  limit: string,
): RegistrationRefusal {
  return {
    refused,
    message: `${whose} has ${countOf(held, "worker")}, and server.${limit} allows no more; stop some workers, or raise the limit`,
    retryAfterMs: RETRY_AFTER_MS,
  };
}

function overweight(
  refused: RegistrationRefusal["refused"],
  whose: string,
  held: number,
  limit: string,
): RegistrationRefusal {
  return {
    refused,
    message: `the registrations of ${whose} hold ${formatBytes(held)} of memory, and at most ${limit} is allowed; stop some workers, or register fewer task types`,
    retryAfterMs: RETRY_AFTER_MS,
  };
}
