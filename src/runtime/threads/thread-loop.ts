import { availableParallelism } from "node:os";
import { type Fiber, outcomeOfFiber } from "../fiber.ts";
import type { Kernel } from "../kernel.ts";
import type { External, Loop } from "../loop.ts";
import { Outside } from "../outside.ts";
import { Turns } from "../turns.ts";
import { CANCEL, digestOf, LAUNCH, OUTSIDE, RECHARGE, RUN, STALLED, STOLE, TIMERS } from "./chance.ts";
import { takeSlips } from "./mail.ts";
import type { Memory } from "./memory.ts";
import { SERIAL } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { SharedDeque } from "./shared-deque.ts";
import type { Equipped, Station } from "./station.ts";
import { VictimChoice } from "./victims.ts";

/** For so long fibers run, and others are waited for, before Node's own loop has its turn. */
const TURN_MS = 5;
const SLICES = 128;
/** Deques that are looked at before going to sleep; some 20 µs. */
const LOOKS = 4_000;
/** So many processors look around at a time: more would take the cores from those that have something to do. */
const MOST_LOOKING: number = availableParallelism();
/** Sleeps of a back-off: from 1 µs to 1 ms. */
const FIRST_SLEEP_MS = 0.001;
const LAST_SLEEP_MS = 1;
/** A thread that has nothing to do looks after Node's own loop so often. */
const PARKED_MS = 1_000;
/** With so many that it cannot start yet a thread steals no more. */
const MOST_EXPECTED = 16;

type Rest = typeof AGAIN | typeof LATER | typeof ASLEEP;

const AGAIN = 0;
const LATER = 1;
const ASLEEP = 2;

/** Runs the fibers of one thread of several: its own, and what it steals from others. */
export class ThreadLoop implements Loop {
  readonly #kernel: Kernel;
  readonly #station: Station;
  readonly #memory: Memory;
  readonly #words: Int32Array;
  readonly #bell: number;
  readonly #parts: Equipped;
  readonly #recorder: Recorder | undefined;
  readonly #deques: readonly SharedDeque[];
  readonly #victims: VictimChoice;
  readonly #spins: number;
  /** The bell as it was when the lists were last looked at. */
  #heard = 0;
  readonly #outside: Outside;
  #awaited = 0;
  readonly #turns = new Turns(() => this.#turn());
  #turning = false;
  #isWaiting = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(kernel: Kernel, parts: Equipped, outside: Outside = new Outside()) {
    this.#outside = outside;
    const { station } = parts;
    const { memory, me, settings } = station;
    this.#kernel = kernel;
    this.#station = station;
    this.#recorder = station.recorder;
    this.#parts = parts;
    this.#memory = memory;
    this.#words = memory.words;
    this.#bell = memory.bellAt(me);
    this.#deques = Array.from({ length: memory.shared.processors }, (_, id) => memory.dequeOf(id));
    this.#spins = Math.max(8, Math.floor(LOOKS / this.#deques.length));
    this.#victims = new VictimChoice(me, this.#deques, settings.victims, settings.seed);
  }

  nowMs(): number {
    return this.#recorder?.nowMs ?? clockOf(this.#station.startedMs);
  }

  sliceEndMs(): number {
    return this.nowMs();
  }

  woken(): void {
    if (!this.#turning && !this.#closed) this.#turns.soon();
  }

  offered(): void {
    if (this.#parts.deque.takeNews()) this.#memory.wakeOne();
    this.woken();
  }

  external(what: External, root: number): void {
    this.#recorder?.step({ launch: LAUNCH, cancel: CANCEL, recharge: RECHARGE }[what], root);
  }

  outside(
    promise: PromiseLike<unknown>,
    settle: (value: unknown, thrown?: { error: unknown }) => void,
  ): () => void {
    const number = this.#awaited++;
    const { chance } = this.#station;
    return this.#outside.await(promise, (value, thrown) =>
      chance === undefined
        ? settle(value, thrown)
        : chance.arrive(OUTSIDE, number, -1, () => settle(value, thrown)),
    );
  }

  /** Told when a thread has died, after its port was closed. What it had sent before still counts. */
  forget(dead: number): void {
    this.#hear();
    this.#parts.border.forget(dead);
    takeSlips(this.#memory, dead, () => undefined);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #turn(): void {
    if (this.#closed) return;
    this.#turning = true;
    clearTimeout(this.#timer);
    this.#memory.wakes(this.#station.me);
    const untilMs = performance.now() + TURN_MS;
    let rest: Rest = AGAIN;
    while (rest === AGAIN) rest = this.#runUntil(untilMs) ? LATER : this.#rest(untilMs);
    this.#turning = false;
    if (this.#memory.isShutDown) this.#station.shutDown();
    else if (rest === LATER) this.#turns.later();
  }

  /** Whether the time was over before there was nothing more to run. */
  #runUntil(untilMs: number): boolean {
    for (;;) {
      this.#fireTimers();
      if (performance.now() >= untilMs) return true;
      for (let slices = 0; slices < SLICES; slices++) {
        if (this.#words[this.#bell] !== this.#heard) this.#hear();
        if (this.#recorder === undefined ? !this.#runNext() : !this.#recordNext(this.#recorder)) return false;
      }
    }
  }

  #fireTimers(): void {
    const { timers } = this.#kernel;
    if (this.#recorder !== undefined) {
      const nextMs = timers.nextMs();
      if (nextMs === undefined || nextMs > clockOf(this.#station.startedMs)) return;
      this.#recorder.step(TIMERS);
    }
    timers.fireUntil(this.nowMs());
  }

  #runNext(): boolean {
    let slot = this.#kernel.processor.pick();
    if (slot < 0) slot = this.#steal();
    if (slot < 0) return false;
    this.#run(slot);
    return true;
  }

  #run(slot: number): void {
    const { deque } = this.#parts;
    deque.show();
    if (deque.takeNews()) this.#memory.wakeOne();
    this.#kernel.run(slot);
  }

  /** As `#runNext`, and writes down what ran and what came of it. */
  #recordNext(recorder: Recorder): boolean {
    const { processor, table } = this.#kernel;
    const { length } = recorder;
    recorder.step(RUN, 0);
    let slot = processor.pick();
    if (slot < 0) {
      recorder.undo(length);
      processor.unpick();
      slot = this.#steal();
      if (slot < 0) return false;
      recorder.step(RUN, 1);
    }
    const fiber = table.fiber[slot] as Fiber;
    const id = table.idOf(slot);
    this.#run(slot);
    const outcome = outcomeOfFiber(fiber);
    const digest = outcome === undefined ? 0 : digestOf(outcome.rank, outcome.value);
    recorder.ran(
      id,
      this.#kernel.meter.sliceOps,
      outcome === undefined ? (table.state[slot] as number) : -1,
      digest,
    );
    return true;
  }

  /** Looks at what others have sent. */
  #hear(): void {
    this.#heard = Atomics.load(this.#words, this.#bell);
    this.#parts.inbox.read();
  }

  #steal(): number {
    const { settings, me } = this.#station;
    const { guests } = this.#parts;
    if (!settings.stealing || guests.waiting >= MOST_EXPECTED) return -1;
    const victims = this.#victims;
    for (let attempt = 0; attempt < victims.attempts; attempt++) {
      const chosen = victims.choose(attempt);
      const victim = this.#deques[chosen] as SharedDeque;
      const record = victim.steal();
      if (record < 0) {
        this.#memory.count(me, "failedSteals");
        continue;
      }
      this.#memory.count(me, "steals");
      if (victim.size > 0) this.#memory.wakeOne();
      this.#recorder?.step(STOLE, chosen, this.#words[this.#memory.recordAt(record) + SERIAL] as number);
      const { stole } = this.#kernel.settings.observer;
      if (stole !== undefined)
        stole({ fiber: this.#memory.fiberOf(record), thief: me, victim: chosen, atMs: this.nowMs() });
      const slot = guests.take(record);
      if (slot >= 0) return slot;
    }
    return -1;
  }

  /** What to do where there is nothing to run: look around, sleep, then park. */
  #rest(untilMs: number): Rest {
    if (this.#memory.isShutDown) return LATER;
    const asAWhole = this.#maySleepAsAWhole();
    // The main thread waits for others as long as it waits for nothing else; Node's loop has to wait for that only shortly.
    if (
      (asAWhole || (this.#parts.home.laid > 0 && this.#outside.isEmpty)) &&
      this.#memory.looks(MOST_LOOKING)
    ) {
      const found = this.#lookAround(untilMs);
      this.#memory.stopsLooking();
      if (found !== ASLEEP) return found;
    }
    if (this.#isStalled() && this.#settleStall()) return AGAIN;
    this.#station.idle();
    return asAWhole ? this.#park() : this.#parkBesideNode();
  }

  /** Spins, then dozes for ever longer. While somebody does, the others need not be woken for what there is to steal. */
  #lookAround(untilMs: number): Rest {
    for (let spin = 0; spin < this.#spins; spin++) if (this.#isThereSomething()) return AGAIN;
    for (let ms = FIRST_SLEEP_MS; ms <= LAST_SLEEP_MS; ms *= 2) {
      this.#memory.sleeps(this.#station.me);
      if (this.#sleep(ms)) return AGAIN;
      if (performance.now() >= untilMs) return LATER;
    }
    return ASLEEP;
  }

  #maySleepAsAWhole(): boolean {
    return this.#station.sleepsAsAWhole && this.#outside.isEmpty && this.#parts.guests.waiting === 0;
  }

  #isThereSomething(): boolean {
    if (this.#words[this.#bell] !== this.#heard) return true;
    if (!this.#station.settings.stealing || this.#parts.guests.waiting >= MOST_EXPECTED) return false;
    for (let victim = 0; victim < this.#deques.length; victim++)
      if ((this.#deques[victim] as SharedDeque).size > 0) return true;
    return false;
  }

  /** Whether nothing will ever come that those who are blocked wait for. */
  #isStalled(): boolean {
    return (
      this.#outside.isEmpty &&
      this.#parts.home.laid === 0 &&
      this.#parts.guests.waiting === 0 &&
      this.#parts.border.waiting === 0 &&
      this.#kernel.timers.nextMs() === undefined
    );
  }

  /** Whether only other threads can have it go on. */
  #isStuck(): boolean {
    const { guests, home } = this.#parts;
    if (!this.#outside.isEmpty || guests.expected > 0 || this.#kernel.timers.nextMs() !== undefined)
      return false;
    return this.#station.me !== 0 || home.laid > 0;
  }

  /** Says that it parks, and whether it is stuck; if all are, there is something to be done about it. */
  #sayParked(): void {
    const { memory, me } = this.#station;
    memory.count(me, "parks");
    memory.parks(me);
    if (this.#isStuck() && memory.sticks(me, this.#heard)) this.#station.stalled();
  }

  #settleStall(): boolean {
    const length = this.#recorder?.length ?? 0;
    this.#recorder?.step(STALLED);
    const settled = this.#kernel.stalled();
    if (!settled) this.#recorder?.undo(length);
    return settled;
  }

  /** Sleeps until the bell rings. Whether it did, or there is something to do. */
  #sleep(ms: number): boolean {
    const rung =
      this.#isThereSomething() || Atomics.wait(this.#words, this.#bell, this.#heard, ms) !== "timed-out";
    this.#memory.wakes(this.#station.me);
    return rung;
  }

  #park(): Rest {
    const nextMs = this.#kernel.timers.nextMs() ?? Number.POSITIVE_INFINITY;
    this.#sayParked();
    return this.#sleep(Math.min(PARKED_MS, Math.max(0, nextMs - clockOf(this.#station.startedMs))))
      ? AGAIN
      : LATER;
  }

  /** Lets Node's loop go on, and comes back when the bell rings or a timer is due. */
  #parkBesideNode(): Rest {
    const { memory, me } = this.#station;
    this.#sayParked();
    if (this.#isThereSomething() || !this.#awaitBell()) {
      memory.wakes(me);
      return AGAIN;
    }
    const nextMs = this.#kernel.timers.nextMs() ?? Number.POSITIVE_INFINITY;
    const sleepMs = Math.min(Math.max(0, nextMs - clockOf(this.#station.startedMs)), 2 ** 31 - 1);
    // It keeps the process alive as long as something is awaited.
    if (Number.isFinite(nextMs) || this.#parts.home.laid > 0 || this.#parts.guests.waiting > 0)
      this.#timer = setTimeout(() => this.woken(), sleepMs);
    return ASLEEP;
  }

  /** Comes back when the bell rings. Says no if it has rung already. */
  #awaitBell(): boolean {
    if (this.#isWaiting) return true;
    const { async, value } = Atomics.waitAsync(this.#words, this.#bell, this.#heard);
    if (!async) return false;
    this.#isWaiting = true;
    void value.then(() => {
      this.#isWaiting = false;
      this.woken();
    });
    return true;
  }
}

/** The time of a runtime with threads, which is the same on all of them. */
export function clockOf(startedMs: number): number {
  return performance.timeOrigin + performance.now() - startedMs;
}
