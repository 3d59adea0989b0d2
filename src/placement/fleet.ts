import { bitsetOf, hasBit, invariant, setBit, writeBit } from "../core/index.ts";
import type { PlacementConfig } from "./config.ts";
import { type Demand, hasCapabilities, servesExecutor, servesZone } from "./demand.ts";
import { Depths } from "./depths.ts";
import { Registrations } from "./registrations.ts";
import {
  byName,
  forgottenSpec,
  type Held,
  type TaskKey,
  Worker,
  type WorkerSpec,
  workerKey,
} from "./worker.ts";

/** A worker was asked to give a task back for another that stands idle. */
export interface Recall {
  readonly idle: number;
  readonly at: number;
}

/** Forgotten workers whose ids are kept, if the configuration does not ask for more. */
const MOST_NAMED = 1000;
/** Stands for all forgotten workers whose ids are not kept any more. */
const NAMELESS = new Worker(-1, forgottenSpec(""));
NAMELESS.forget();

/** How many changes are remembered for demands that look again. */
const CHANGES = 4096;

/**
 * All workers, and the indexes that let a decision look at bits instead of workers.
 *
 * The workers are the state; everything else here is derived from them and rebuilt when one joins. A bit
 * stands for a worker in the order of ids, so the lowest bit is the tie-break. The order in which workers
 * registered shows nowhere.
 */
export class Fleet {
  config: PlacementConfig;
  /** By number, in the order of first registration. */
  readonly workers: Worker[] = [];
  /** Workers, sorted by id and then by home zone. */
  sorted: Worker[] = [];
  /** The last worker that was given a task: round robin goes on behind it. */
  cursor: Worker | undefined;
  heldTotal = 0;
  reachable = 0;
  readonly registrations: Registrations = new Registrations();
  /** Counts how often some worker may have got room: only then is what was blocked worth another look. */
  relief = 0;

  membership = 0;
  changeCount = 0;
  readonly changes: Int32Array = new Int32Array(CHANGES);
  /** Workers that are Idle or Busy. */
  open: Uint32Array = bitsetOf(0);
  overloaded: Uint32Array = bitsetOf(0);
  draining: Uint32Array = bitsetOf(0);
  unreachable: Uint32Array = bitsetOf(0);
  /** Workers whose queue is below its limit. */
  roomy: Uint32Array = bitsetOf(0);
  /** Those that could begin one more at once. */
  vacant: Uint32Array = bitsetOf(0);
  /** The same for tasks that take no slot where workers have room for such. */
  roomyForIo: Uint32Array = bitsetOf(0);
  vacantForIo: Uint32Array = bitsetOf(0);
  /** Those that have more than they can run, and give back of it. */
  crowded: Uint32Array = bitsetOf(0);
  /** Workers that are kept free for a task. */
  reserved: Uint32Array = bitsetOf(0);
  readonly reservations: Map<TaskKey, Worker> = new Map();
  /** Tasks that their workers were asked to give back. */
  readonly recalls: Map<TaskKey, Recall> = new Map();
  /** Waiting tasks that were given back, and by whom: they go to another, where there is one. */
  readonly returned: Map<TaskKey, Worker> = new Map();
  /** Of the open workers. */
  depths: Depths = new Depths(0);
  /** Workers, keyed by home zone and id. */
  readonly #byName = new Map<string, Worker>();
  #known = 0;
  readonly #executed = new Map<string, Uint32Array>();
  readonly #homes = new Map<string, Uint32Array>();
  #ordinals: Int32Array = new Int32Array(0);
  #freeCpu: Float64Array = new Float64Array(0);
  #freeMemory: Float64Array = new Float64Array(0);
  /** What the sets say of each, in one number. */
  #standings: Int32Array = new Int32Array(0);
  /** The numbers of the workers that got room, by `relief`. */
  readonly #relieved: Int32Array = new Int32Array(CHANGES);
  #stale = false;
  /** Numbers of the forgotten workers that still have an id, ascending. */
  readonly #named: number[] = [];

  constructor(config: PlacementConfig) {
    this.config = config;
  }

  configure(config: PlacementConfig): void {
    this.config = config;
    this.#stale = true;
  }

  named(zone: string, id: string): Worker | undefined {
    return this.#byName.get(workerKey(zone, id));
  }

  /**
   * Returns the worker that registers again with this spec. A spec without a key is from an older ledger, in which an id was
   * unique among all zones.
   */
  continuedBy({ zone, id, key }: WorkerSpec): Worker | undefined {
    if (key !== undefined) return this.named(zone, id);
    for (const worker of this.#byName.values()) if (worker.id === id) return worker;
    return undefined;
  }

  ordinalOf(worker: Worker): number {
    return this.#ordinals[worker.number] ?? -1;
  }

  isOpen({ status }: Worker): boolean {
    return status === "Idle" || status === "Busy";
  }

  /** The share of all queue room that is taken (P-05). */
  get usage(): number {
    return this.heldTotal / Math.max(1, this.reachable * this.config.maxQueuePerWorker);
  }

  /** A worker that comes back under its name begins anew: what it held is the caller's to settle first. */
  register(spec: WorkerSpec, seq: number): Worker {
    let worker = this.continuedBy(spec);
    if (worker) {
      invariant(worker.held.size === 0, "a worker that registers again holds nothing");
      this.registrations.replace(worker.spec, worker.status !== "Unreachable");
      this.registrations.enter(spec);
      if (worker.status === "Unreachable") this.reachable++;
      worker.hasLeft = false;
      this.#byName.delete(nameOf(worker));
      worker.spec = spec;
      this.#byName.set(nameOf(worker), worker);
      worker.freeCpu = spec.cpuMillicores;
      worker.freeMemory = spec.memoryBytes;
      worker.loadPermille = 0;
      worker.saysOverloaded = false;
      worker.executed.clear();
      worker.pace = undefined;
      worker.moveTo("Idle");
    } else {
      worker = new Worker(this.workers.length, spec);
      this.adopt(worker);
    }
    worker.registeredSeq = seq;
    this.#stale = true;
    this.#forgetLost();
    return worker;
  }

  /** Those that are here, or are missed. */
  present(): Worker[] {
    return this.known().filter(({ hasLeft }) => !hasLeft);
  }

  /** Those that something may still look at. */
  known(): Worker[] {
    return [...this.#byName.values()].sort((a, b) => a.number - b.number);
  }

  /** Takes in a worker as it is, for instance from a snapshot. */
  adopt(worker: Worker): void {
    invariant(worker.number === this.workers.length, "workers are numbered in order");
    this.workers.push(worker);
    if (worker.isForgotten) {
      this.#noteForgotten(worker.number);
      return;
    }
    this.#byName.set(nameOf(worker), worker);
    this.#known++;
    this.registrations.enter(worker.spec);
    if (worker.status === "Unreachable") this.registrations.lose(worker.spec);
    else this.reachable++;
    this.heldTotal += worker.held.size;
    if (worker.reservedFor !== undefined) this.reservations.set(worker.reservedFor, worker);
    this.#stale = true;
  }

  lose(worker: Worker, seq: number): void {
    if (worker.status === "Unreachable") return;
    this.registrations.lose(worker.spec);
    worker.moveTo("Unreachable");
    worker.lostSeq = seq;
    this.unreserve(worker.reservedFor);
    this.reachable--;
    this.#reindex(worker);
  }

  drain(worker: Worker): void {
    worker.moveTo("Draining");
    this.unreserve(worker.reservedFor);
    this.#reindex(worker);
  }

  reportLoad(worker: Worker, loadPermille: number, saysOverloaded: boolean): void {
    worker.loadPermille = loadPermille;
    worker.saysOverloaded = saysOverloaded;
    const wasOverloaded = worker.status === "Overloaded";
    if (worker.status === "Idle" || worker.status === "Busy" || worker.status === "Overloaded") {
      worker.moveTo(
        this.isOverloaded(worker, loadPermille, saysOverloaded) ? "Overloaded" : restingStatus(worker),
      );
    }
    if (wasOverloaded) this.#relieve(worker);
    else this.#reindex(worker);
  }

  isOverloaded(worker: Worker, loadPermille: number, saysOverloaded: boolean): boolean {
    if (saysOverloaded || loadPermille >= this.config.overloadedAtPermille) return true;
    return worker.status === "Overloaded" && loadPermille >= this.config.relievedBelowPermille;
  }

  take(worker: Worker, key: TaskKey, held: Held): void {
    worker.held.set(key, held);
    if (held.io) worker.io++;
    worker.freeCpu -= held.cpuMillicores;
    worker.freeMemory -= held.memoryBytes;
    this.heldTotal++;
    if (worker.status === "Idle") worker.moveTo("Busy");
    this.#reindex(worker);
  }

  release(worker: Worker, key: TaskKey): void {
    const held = worker.held.get(key);
    invariant(held !== undefined, "a worker gives back what it was given");
    worker.held.delete(key);
    if (held.io) worker.io--;
    worker.freeCpu += held.cpuMillicores;
    worker.freeMemory += held.memoryBytes;
    this.heldTotal--;
    if (worker.status === "Busy" && worker.held.size === 0) worker.moveTo("Idle");
    this.#relieve(worker);
  }

  reserve(worker: Worker, key: TaskKey): void {
    invariant(worker.reservedFor === undefined, "a worker is kept free for one task");
    worker.reservedFor = key;
    this.reservations.set(key, worker);
    this.#reindex(worker);
  }

  unreserve(key: TaskKey | undefined): void {
    const worker = key === undefined ? undefined : this.reservations.get(key);
    if (!worker || key === undefined) return;
    worker.reservedFor = undefined;
    this.reservations.delete(key);
    this.#relieve(worker);
  }

  noteExecuted(worker: Worker, type: string): void {
    if (worker.executed.has(type)) return;
    worker.executed.add(type);
    if (!this.#stale) setBit(this.executed(type), this.ordinalOf(worker));
  }

  executed(type: string): Uint32Array {
    return this.#attribute(this.#executed, type, (worker) => worker.executed.has(type));
  }

  home(zone: string): Uint32Array {
    return this.#attribute(this.#homes, zone, (worker) => worker.spec.zone === zone);
  }

  freeCpu(ordinal: number): number {
    return this.#freeCpu[ordinal] as number;
  }

  /** Brings the indexes in step; cheap when no worker came. */
  settle(): void {
    if (this.#stale) this.#rebuild();
  }

  /** Brings a demand's sets in step with the workers. */
  refresh(demand: Demand): void {
    this.settle();
    if (demand.membership !== this.membership) this.#meet(demand);
    const missed = this.changeCount - demand.change;
    if (missed > Math.min(CHANGES, this.sorted.length)) {
      for (let ordinal = 0; ordinal < this.sorted.length; ordinal++) this.#refit(demand, ordinal);
    } else {
      for (let change = demand.change; change < this.changeCount; change++) {
        this.#refit(demand, this.changes[change % CHANGES] as number);
      }
    }
    demand.change = this.changeCount;
  }

  /**
   * Whether a demand that none of the workers could meet at that count of relief may be met now by one of them: only
   * those that got room since then are looked at.
   */
  mayBeMet(demand: Demand, reliefThen: number): boolean {
    if (demand.membership !== this.membership || this.relief - reliefThen > CHANGES) return true;
    const { needs, serves } = demand;
    const roomy = needs.io ? this.roomyForIo : this.roomy;
    for (let at = reliefThen; at < this.relief; at++) {
      const ordinal = this.#ordinals[this.#relieved[at % CHANGES] as number] as number;
      if ((this.#freeCpu[ordinal] as number) < needs.cpuMillicores) continue;
      if ((this.#freeMemory[ordinal] as number) < needs.memoryBytes) continue;
      if (hasBit(serves, ordinal) && hasBit(this.open, ordinal) && hasBit(roomy, ordinal)) return true;
    }
    return false;
  }

  /** Forgets the worker that was lost first if there are too many, and further ones as long as their bytes are too many. */
  #forgetLost(): void {
    const { keepLostWorkers, keepLostBytes = Number.POSITIVE_INFINITY } = this.config;
    if (this.#known - this.reachable > keepLostWorkers) this.#forgetFirstLost();
    while (this.registrations.lostBytes > keepLostBytes) this.#forgetFirstLost();
  }

  #forgetFirstLost(): void {
    let first: Worker | undefined;
    for (const worker of this.#byName.values()) {
      if (worker.status === "Unreachable" && (!first || worker.lostSeq < first.lostSeq)) first = worker;
    }
    invariant(first, "of many lost workers one was lost first");
    this.registrations.forget(first.spec);
    this.#byName.delete(nameOf(first));
    first.forget();
    this.#ordinals[first.number] = -1;
    this.#noteForgotten(first.number);
    this.#known--;
  }

  /** Beyond `keepLostWorkers` forgotten workers, the one that registered first loses its id as well. */
  #noteForgotten(number: number): void {
    const named = this.#named;
    let at = named.length;
    while (at > 0 && (named[at - 1] as number) > number) at--;
    named.splice(at, 0, number);
    if (named.length <= Math.max(MOST_NAMED, this.config.keepLostWorkers)) return;
    const first = named.shift() as number;
    if (this.cursor?.number === first) this.cursor = undefined;
    this.workers[first] = NAMELESS;
  }

  #relieve(worker: Worker): void {
    this.#relieved[this.relief++ % CHANGES] = worker.number;
    this.#reindex(worker);
  }

  #refit(demand: Demand, ordinal: number): void {
    writeBit(demand.fitsCpu, ordinal, (this.#freeCpu[ordinal] as number) >= demand.needs.cpuMillicores);
    writeBit(demand.fitsMemory, ordinal, (this.#freeMemory[ordinal] as number) >= demand.needs.memoryBytes);
  }

  #meet(demand: Demand): void {
    const { needs, unsuited } = demand;
    demand.membership = this.membership;
    demand.change = this.changeCount - this.sorted.length - 1;
    demand.serves = bitsetOf(this.sorted.length);
    demand.fitsCpu = bitsetOf(this.sorted.length);
    demand.fitsMemory = bitsetOf(this.sorted.length);
    unsuited.fill(0);
    for (const [ordinal, worker] of this.sorted.entries()) {
      if (!servesExecutor(worker, needs)) unsuited[0]++;
      else if (!servesZone(worker, needs)) unsuited[1]++;
      else if (!hasCapabilities(worker, needs)) unsuited[2]++;
      else setBit(demand.serves, ordinal);
    }
  }

  #rebuild(): void {
    this.#stale = false;
    this.membership++;
    this.sorted = this.known().sort(byName);
    const size = this.sorted.length;
    if (this.#ordinals.length < this.workers.length)
      this.#ordinals = new Int32Array(2 * this.workers.length).fill(-1);
    for (const [ordinal, worker] of this.sorted.entries()) this.#ordinals[worker.number] = ordinal;
    this.#freeCpu = new Float64Array(size);
    this.#freeMemory = new Float64Array(size);
    this.#standings = new Int32Array(size);
    this.open = bitsetOf(size);
    this.overloaded = bitsetOf(size);
    this.draining = bitsetOf(size);
    this.unreachable = bitsetOf(size);
    this.roomy = bitsetOf(size);
    this.vacant = bitsetOf(size);
    this.roomyForIo = bitsetOf(size);
    this.vacantForIo = bitsetOf(size);
    this.crowded = bitsetOf(size);
    this.reserved = bitsetOf(size);
    this.depths = new Depths(size);
    this.#executed.clear();
    this.#homes.clear();
    for (const worker of this.sorted) this.#reindex(worker);
  }

  #reindex(worker: Worker): void {
    if (this.#stale) return;
    const ordinal = this.ordinalOf(worker);
    this.#stand(ordinal, worker);
    this.#freeCpu[ordinal] = worker.freeCpu;
    this.#freeMemory[ordinal] = worker.freeMemory;
    this.changes[this.changeCount++ % CHANGES] = ordinal;
    this.depths.set(ordinal, this.isOpen(worker) ? worker.held.size : -1);
  }

  /** Most that is given or ends leaves a worker in the same sets. */
  #stand(ordinal: number, worker: Worker): void {
    const { status, spec } = worker;
    const places = worker.inSlots - spec.slots;
    const isRoomy = places < this.config.maxQueuePerWorker;
    const hasIoRoom = spec.ioSlots ? worker.io < spec.ioSlots : undefined;
    const standing =
      (this.isOpen(worker) ? 1 : 0) |
      (status === "Overloaded" ? 2 : 0) |
      (status === "Draining" ? 4 : 0) |
      (status === "Unreachable" ? 8 : 0) |
      (isRoomy ? 16 : 0) |
      (places < 0 ? 32 : 0) |
      (isCrowded(worker) ? 64 : 0) |
      (worker.reservedFor === undefined ? 0 : 128) |
      ((hasIoRoom ?? isRoomy) ? 256 : 0) |
      ((hasIoRoom ?? places < 0) ? 512 : 0);
    if (standing === this.#standings[ordinal]) return;
    this.#standings[ordinal] = standing;
    writeBit(this.open, ordinal, (standing & 1) !== 0);
    writeBit(this.overloaded, ordinal, (standing & 2) !== 0);
    writeBit(this.draining, ordinal, (standing & 4) !== 0);
    writeBit(this.unreachable, ordinal, (standing & 8) !== 0);
    writeBit(this.roomy, ordinal, (standing & 16) !== 0);
    writeBit(this.vacant, ordinal, (standing & 32) !== 0);
    writeBit(this.crowded, ordinal, (standing & 64) !== 0);
    writeBit(this.reserved, ordinal, (standing & 128) !== 0);
    writeBit(this.roomyForIo, ordinal, (standing & 256) !== 0);
    writeBit(this.vacantForIo, ordinal, (standing & 512) !== 0);
  }

  #attribute(sets: Map<string, Uint32Array>, name: string, holds: (worker: Worker) => boolean): Uint32Array {
    let set = sets.get(name);
    if (!set) {
      set = bitsetOf(this.sorted.length);
      for (const [ordinal, worker] of this.sorted.entries()) if (holds(worker)) setBit(set, ordinal);
      sets.set(name, set);
    }
    return set;
  }
}

function nameOf({ spec, id }: Worker): string {
  return workerKey(spec.zone, id);
}

function isCrowded({ inSlots, spec, status }: Worker): boolean {
  return spec.givesBack === true && inSlots > spec.slots && (status === "Busy" || status === "Overloaded");
}

function restingStatus(worker: Worker): "Idle" | "Busy" {
  return worker.held.size === 0 ? "Idle" : "Busy";
}
