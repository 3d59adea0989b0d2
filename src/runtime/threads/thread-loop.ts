import { availableParallelism } from "node:os";
import type { Kernel } from "../kernel.ts";
import type { Loop } from "../loop.ts";
import { Outside } from "../outside.ts";
import type { Victims } from "../simulation.ts";
import type { Desk } from "./desk.ts";
import type { Directory } from "./directory.ts";
import type { Exchange } from "./exchange.ts";
import { Guests } from "./guests.ts";
import type { Home } from "./home.ts";
import type { Letter, Post } from "./letters.ts";
import { takeCommands, takeReports } from "./lists.ts";
import { type Mail, takeSlips } from "./mail.ts";
import type { Memory } from "./memory.ts";
import type { SharedDeque } from "./shared-deque.ts";
import type { SplitDeque } from "./split-deque.ts";
import { VictimChoice } from "./victims.ts";

/** For so long fibers run, and others are waited for, before Node's own loop has its turn. */
const TURN_MS = 5;
const SLICES = 128;
/** Turns of the main thread that may follow one another without Node's loop having one in between. */
const TURNS = 32;
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

export interface StealSettings {
  readonly seed: number;
  readonly victims: Victims;
  readonly stealing: boolean;
}

/** One of the processors, as its thread sees it. */
export interface Station {
  readonly me: number;
  readonly memory: Memory;
  readonly directory: Directory;
  readonly post: Post;
  readonly settings: StealSettings;
  /** When the runtime was started, so that all threads have the same clock. */
  readonly startedMs: number;
  /** Whether the thread has nothing to do but this, so that it may sleep as a whole. */
  readonly sleepsAsAWhole: boolean;
  /** Told when the runtime is shut down. */
  readonly shutDown: () => void;
}

/** Where a thread hears of channels that others use as well. */
export type ChannelBorder = Exchange | Desk;

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
  readonly #deque: SplitDeque;
  readonly #home: Home;
  readonly #border: ChannelBorder;
  readonly #guests: Guests;
  readonly #deques: readonly SharedDeque[];
  readonly #victims: VictimChoice;
  readonly #spins: number;
  /** The bell as it was when the lists were last looked at. */
  #heard = 0;
  readonly #outside = new Outside();
  #turns = 0;
  #scheduled = false;
  #turning = false;
  #isWaiting = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(kernel: Kernel, station: Station, deque: SplitDeque, home: Home, border: ChannelBorder) {
    const { memory, me, settings } = station;
    this.#kernel = kernel;
    this.#station = station;
    this.#memory = memory;
    this.#words = memory.words;
    this.#bell = memory.bellAt(me);
    this.#deque = deque;
    this.#home = home;
    this.#border = border;
    this.#guests = new Guests(kernel, memory, me, station.directory, station.post);
    this.#deques = Array.from({ length: memory.shared.processors }, (_, id) => memory.dequeOf(id));
    this.#spins = Math.max(8, Math.floor(LOOKS / this.#deques.length));
    this.#victims = new VictimChoice(me, this.#deques, settings.victims, settings.seed);
  }

  nowMs(): number {
    return performance.timeOrigin + performance.now() - this.#station.startedMs;
  }

  sliceEndMs(): number {
    return this.nowMs();
  }

  woken(): void {
    if (!this.#turning && !this.#scheduled && !this.#closed) this.#schedule();
  }

  offered(): void {
    if (this.#deque.takeNews()) this.#memory.wakeOne();
    this.woken();
  }

  outside(
    promise: PromiseLike<unknown>,
    settle: (value: unknown, thrown?: { error: unknown }) => void,
  ): () => void {
    return this.#outside.await(promise, settle);
  }

  /** Told when a thread has died, after its port was closed. What it had sent before still counts. */
  forget(dead: number): void {
    this.#hear();
    this.#border.forget(dead);
    takeSlips(this.#memory, dead, () => undefined);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#scheduled = true;
    if (++this.#turns % TURNS === 0) setImmediate(() => this.#turn());
    else queueMicrotask(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    if (this.#closed) return;
    this.#turning = true;
    clearTimeout(this.#timer);
    this.#memory.wakes(this.#station.me);
    const untilMs = performance.now() + TURN_MS;
    let rest: Rest = AGAIN;
    while (rest === AGAIN) rest = this.#runUntil(untilMs) ? LATER : this.#rest(untilMs);
    this.#turning = false;
    if (this.#memory.isShutDown) this.#station.shutDown();
    else if (rest === LATER) {
      this.#scheduled = true;
      setImmediate(() => this.#turn());
    }
  }

  /** Whether the time was over before there was nothing more to run. */
  #runUntil(untilMs: number): boolean {
    const kernel = this.#kernel;
    const { timers, processor } = kernel;
    for (;;) {
      timers.fireUntil(this.nowMs());
      if (performance.now() >= untilMs) return true;
      for (let slices = 0; slices < SLICES; slices++) {
        if (this.#words[this.#bell] !== this.#heard) this.#hear();
        let slot = processor.pick();
        if (slot < 0) slot = this.#steal();
        if (slot < 0) return false;
        this.#deque.show();
        if (this.#deque.takeNews()) this.#memory.wakeOne();
        kernel.run(slot);
      }
    }
  }

  /** Looks at what others have sent. */
  #hear(): void {
    const { memory, me, post } = this.#station;
    this.#heard = Atomics.load(this.#words, this.#bell);
    if (Atomics.exchange(this.#words, memory.lettersAt(me), 0) !== 0)
      post.receive((letter) => this.#take(letter));
    if (this.#words[memory.mailAt(me)] !== 0) takeSlips(memory, me, (mail) => this.#border.take(mail));
    this.#border.letGo();
    if (this.#words[memory.reportsAt(me)] !== 0)
      takeReports(memory, me, (record) => {
        memory.count(me, "settled");
        this.#home.receive(record);
      });
    if (this.#words[memory.commandsAt(me)] !== 0)
      takeCommands(memory, me, (record, commands) => this.#guests.obey(record, commands));
  }

  #take(letter: Letter): void {
    if (letter.kind === "mail") this.#border.take(letter.value as Mail);
    else if (letter.kind === "arguments") this.#guests.receiveLetter(letter);
    else this.#home.receiveLetter(letter);
  }

  #steal(): number {
    const { settings, me } = this.#station;
    if (!settings.stealing || this.#guests.waiting >= MOST_EXPECTED) return -1;
    const victims = this.#victims;
    for (let attempt = 0; attempt < victims.attempts; attempt++) {
      const victim = this.#deques[victims.choose(attempt)] as SharedDeque;
      const record = victim.steal();
      if (record < 0) {
        this.#memory.count(me, "failedSteals");
        continue;
      }
      this.#memory.count(me, "steals");
      if (victim.size > 0) this.#memory.wakeOne();
      const slot = this.#guests.take(record);
      if (slot >= 0) return slot;
    }
    return -1;
  }

  /** What to do where there is nothing to run: look around, sleep, then park. */
  #rest(untilMs: number): Rest {
    if (this.#memory.isShutDown) return LATER;
    const asAWhole = this.#maySleepAsAWhole();
    // The main thread waits for others as long as it waits for nothing else; Node's loop has to wait for that only shortly.
    if ((asAWhole || (this.#home.laid > 0 && this.#outside.isEmpty)) && this.#memory.looks(MOST_LOOKING)) {
      const found = this.#lookAround(untilMs);
      this.#memory.stopsLooking();
      if (found !== ASLEEP) return found;
    }
    if (this.#isStalled() && this.#kernel.stalled()) return AGAIN;
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
    return this.#station.sleepsAsAWhole && this.#outside.isEmpty && this.#guests.waiting === 0;
  }

  #isThereSomething(): boolean {
    if (this.#words[this.#bell] !== this.#heard) return true;
    if (!this.#station.settings.stealing || this.#guests.waiting >= MOST_EXPECTED) return false;
    for (let victim = 0; victim < this.#deques.length; victim++)
      if ((this.#deques[victim] as SharedDeque).size > 0) return true;
    return false;
  }

  /** Whether nothing will ever come that those who are blocked wait for. */
  #isStalled(): boolean {
    return (
      this.#outside.isEmpty &&
      this.#home.laid === 0 &&
      this.#guests.waiting === 0 &&
      this.#border.waiting === 0 &&
      this.#kernel.timers.nextMs() === undefined
    );
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
    const { memory, me } = this.#station;
    memory.count(me, "parks");
    memory.parks(me);
    return this.#sleep(Math.min(PARKED_MS, Math.max(0, nextMs - this.nowMs()))) ? AGAIN : LATER;
  }

  /** Lets Node's loop go on, and comes back when the bell rings or a timer is due. */
  #parkBesideNode(): Rest {
    const { memory, me } = this.#station;
    memory.count(me, "parks");
    memory.parks(me);
    if (this.#isThereSomething() || !this.#awaitBell()) {
      memory.wakes(me);
      return AGAIN;
    }
    const nextMs = this.#kernel.timers.nextMs() ?? Number.POSITIVE_INFINITY;
    const sleepMs = Math.min(Math.max(0, nextMs - this.nowMs()), 2 ** 31 - 1);
    // It keeps the process alive as long as something is awaited.
    if (Number.isFinite(nextMs) || this.#home.laid > 0 || this.#guests.waiting > 0)
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
