import { clearBit, countBits, hasBit, lowestBit, setBit } from "../core/index.ts";
import { type Demand, hasPlace, takesNoSlot } from "./demand.ts";
import type { Fleet } from "./fleet.ts";
import { REJECTIONS } from "./reason.ts";
import type { TaskKey, Worker } from "./worker.ts";

const NONE: readonly number[] = [];

/** Who could take a task now, and how many could not for what. Reused from one decision to the next. */
export class Candidates {
  set: Uint32Array = new Uint32Array(0);
  count = 0;
  /** How many there were before resources were looked at. */
  available = 0;
  /** What the task needs. */
  requiredCpu = 0;
  readonly #rejected = new Int32Array(REJECTIONS.length);
  #demand: Demand | undefined;
  /** The worker that gave the task back. */
  #returnedBy: Worker | undefined;

  /** Counts per rejection, without the zeros at the end. */
  rejected(): readonly number[] {
    let length = this.#rejected.length;
    while (length > 0 && this.#rejected[length - 1] === 0) length--;
    if (length === 0) return NONE;
    const counts: number[] = [];
    for (let code = 0; code < length; code++) counts.push(this.#rejected[code] as number);
    return counts;
  }

  /** Those that could take it, by their place among the sorted workers. */
  forEach(visit: (ordinal: number) => void): void {
    for (let word = 0; word < this.set.length; word++) {
      for (let bits = this.set[word] as number; bits !== 0; bits &= bits - 1) {
        visit((word << 5) | lowestBit(bits));
      }
    }
  }

  /** `atOnce`: a place in a worker's queue will not do. */
  find(fleet: Fleet, demand: Demand, key: TaskKey, atOnce = false): void {
    fleet.refresh(demand);
    this.#demand = demand;
    const words = demand.serves.length;
    if (this.set.length !== words) this.set = new Uint32Array(words);
    this.count = 0;
    this.available = 0;
    this.requiredCpu = demand.needs.cpuMillicores;
    const rejected = this.#rejected;
    rejected.fill(0);
    rejected[0] = demand.unsuited[0];
    rejected[1] = demand.unsuited[1];
    rejected[2] = demand.unsuited[2];
    const own = fleet.reservations.get(key);
    if (own) clearBit(fleet.reserved, fleet.ordinalOf(own));
    const room = roomOf(fleet, demand.needs.io === true, atOnce);
    for (let word = 0; word < words; word++) this.#findInWord(fleet, demand, room, word);
    if (own) setBit(fleet.reserved, fleet.ordinalOf(own));
    this.#returnedBy = fleet.returned.size === 0 ? undefined : fleet.returned.get(key);
    if (this.#returnedBy && this.count > 1) this.passOver(fleet.ordinalOf(this.#returnedBy));
  }

  /** Takes out one that is not to get it. */
  passOver(ordinal: number): void {
    if (!hasBit(this.set, ordinal)) return;
    clearBit(this.set, ordinal);
    this.count--;
    this.available--;
    (this.#rejected[10] as number)++;
  }

  /** Adds a worker that only the length of its queue kept from being one, if that is below a limit of its own. */
  addQueued(fleet: Fleet, worker: Worker, queue: number): void {
    const ordinal = fleet.ordinalOf(worker);
    const demand = this.#demand as Demand;
    if (worker === this.#returnedBy || hasBit(this.set, ordinal)) return;
    if (takesNoSlot(worker, demand.needs) || !hasPlace(worker, true, queue)) return;
    const { serves, fitsCpu, fitsMemory } = demand;
    if (
      hasBit(fleet.reserved, ordinal) ||
      ![serves, fleet.open, fitsCpu, fitsMemory].every((of) => hasBit(of, ordinal))
    )
      return;
    setBit(this.set, ordinal);
    this.available++;
    this.count++;
    (this.#rejected[6] as number)--;
  }

  #findInWord(fleet: Fleet, demand: Demand, room: Uint32Array, word: number): void {
    const rejected = this.#rejected;
    const serves = demand.serves[word] as number;
    const open = serves & (fleet.open[word] as number);
    if (open !== serves) {
      (rejected[3] as number) += countBits(serves & (fleet.unreachable[word] as number));
      (rejected[4] as number) += countBits(serves & (fleet.draining[word] as number));
      (rejected[5] as number) += countBits(serves & (fleet.overloaded[word] as number));
    }
    const roomy = open & (room[word] as number);
    if (roomy !== open) (rejected[6] as number) += countBits(open & ~roomy);
    const free = roomy & ~(fleet.reserved[word] as number);
    if (free !== roomy) (rejected[7] as number) += countBits(roomy & ~free);
    const fitsCpu = free & (demand.fitsCpu[word] as number);
    if (fitsCpu !== free) (rejected[8] as number) += countBits(free & ~fitsCpu);
    const fits = fitsCpu & (demand.fitsMemory[word] as number);
    if (fits !== fitsCpu) (rejected[9] as number) += countBits(fitsCpu & ~fits);
    this.set[word] = fits;
    this.available += countBits(free);
    this.count += countBits(fits);
  }
}

function roomOf(fleet: Fleet, isIo: boolean, atOnce: boolean): Uint32Array {
  if (isIo) return atOnce ? fleet.vacantForIo : fleet.roomyForIo;
  return atOnce ? fleet.vacant : fleet.roomy;
}
