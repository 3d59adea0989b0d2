import { dequeWords, SharedDeque } from "./shared-deque.ts";

// The one shared memory of a runtime with threads, in words of 32 bits. Zeroes are its valid beginning, so that nobody
// has to prepare anything and untouched pages cost nothing.

const LINE = 16;

/** Words for all. */
const SHUTDOWN = 0;
const LOOKING = 1;
const CHANNELS = 2;
const STUCK = 3;
const PARKED = LINE;
const PARKED_BITS = 2 * LINE;

export const MOST_PROCESSORS = 1_024;
const DEQUE_CAPACITY = 256;

/** Words of each processor, from its begin. */
const BELL = 0;
const ASLEEP = 1;
const SERIALS = 2;
const IS_STUCK = 3;
const HEARD = 4;
const INCARNATION = 5;
const REPORTS = LINE;
const COMMANDS = 2 * LINE;
const LETTERS = 3 * LINE;
const COUNTERS = 4 * LINE;
const MAIL = 5 * LINE;
const DEQUE = 6 * LINE;

const TEXTS = 1_024;
const TEXT_WORDS = 256;

export const RECORD_WORDS = 64;
/** Where in a record the id of its fiber is, two words. */
export const ID = 32;

export const SLIP_WORDS = 64;
/** Slips that each processor has. */
export const SLIPS = 128;

/** What a processor counts, in the order of its words. */
export const COUNTED = ["steals", "failedSteals", "parks", "started", "settled"] as const;

/** What its kernel counts, behind that. */
const PUBLISHED = ["spawned", "slices", "completed", "cancelled", "exhausted", "recharged"] as const;

export type Counted = (typeof COUNTED)[number];

export type Published = Readonly<Record<(typeof PUBLISHED)[number], number>>;

export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  readonly processors: number;
  /** Descriptors that each processor has. */
  readonly records: number;
  /** Whether what happens is recorded. Then threads do nothing to each other but by mail. */
  readonly recorded: boolean;
}

export function makeMemory(processors: number, recorded: boolean): SharedMemory {
  const records = processors > 64 ? 1_024 : 4_096;
  const { words } = layout(processors, records);
  return { buffer: new SharedArrayBuffer(4 * words), processors, records, recorded };
}

function layout(processors: number, records: number) {
  const textsAt = PARKED_BITS + MOST_PROCESSORS / 32 + LINE;
  const processorsAt = textsAt + LINE + TEXTS * TEXT_WORDS;
  const processorWords = DEQUE + dequeWords(DEQUE_CAPACITY);
  const recordsAt = processorsAt + processors * processorWords;
  const slipsAt = recordsAt + processors * records * RECORD_WORDS;
  return {
    slipsAt,
    textsAt,
    processorsAt,
    processorWords,
    recordsAt,
    words: slipsAt + processors * SLIPS * SLIP_WORDS,
  };
}

/** The shared memory as one of the threads sees it. */
export class Memory {
  readonly shared: SharedMemory;
  readonly words: Int32Array;
  readonly floats: Float64Array;
  readonly #layout: ReturnType<typeof layout>;

  constructor(shared: SharedMemory) {
    this.shared = shared;
    this.#layout = layout(shared.processors, shared.records);
    this.words = new Int32Array(shared.buffer);
    this.floats = new Float64Array(shared.buffer);
  }

  get isShutDown(): boolean {
    return Atomics.load(this.words, SHUTDOWN) !== 0;
  }

  shutDown(): void {
    Atomics.store(this.words, SHUTDOWN, 1);
  }

  dequeOf(processor: number): SharedDeque {
    return new SharedDeque(this.words, this.#at(processor, DEQUE), DEQUE_CAPACITY);
  }

  /** Where a record's words begin. Records of all processors are counted through. */
  recordAt(record: number): number {
    return this.#layout.recordsAt + record * RECORD_WORDS;
  }

  /** Where a slip's words begin. Slips of all processors are counted through. */
  slipAt(slip: number): number {
    return this.#layout.slipsAt + slip * SLIP_WORDS;
  }

  homeOf(record: number): number {
    return Math.floor(record / this.shared.records);
  }

  /** The id of the fiber that a record describes. */
  fiberOf(record: number): number {
    return this.floats[(this.recordAt(record) + ID) >> 1] as number;
  }

  /** Which of the threads that a processor has had, one after the other, it has now. */
  incarnationOf(processor: number): number {
    return Atomics.load(this.words, this.#at(processor, INCARNATION));
  }

  /** Says that a processor's thread is gone. */
  isReplaced(processor: number): void {
    Atomics.add(this.words, this.#at(processor, INCARNATION), 1);
  }

  reportsAt(processor: number): number {
    return this.#at(processor, REPORTS);
  }

  commandsAt(processor: number): number {
    return this.#at(processor, COMMANDS);
  }

  /** The list of slips that others have sent. */
  mailAt(processor: number): number {
    return this.#at(processor, MAIL);
  }

  /** A number that no other use of a processor's records has; for the processor itself. */
  nextSerial(processor: number): number {
    const at = this.#at(processor, SERIALS);
    this.words[at] = ((this.words[at] as number) + 1) & 0x7fff_ffff;
    return this.words[at] as number;
  }

  /** A number that no other channel has. */
  nextChannel(): number {
    return Atomics.add(this.words, CHANNELS, 1);
  }

  /** Not 0 if there may be letters at the port. */
  lettersAt(processor: number): number {
    return this.#at(processor, LETTERS);
  }

  bellAt(processor: number): number {
    return this.#at(processor, BELL);
  }

  /** Of the processor itself; others read what it wrote. */
  count(processor: number, what: Counted): void {
    (this.words[this.#at(processor, COUNTERS) + COUNTED.indexOf(what)] as number)++;
  }

  counters(processor: number): Readonly<Record<Counted, number>> {
    const at = this.#at(processor, COUNTERS);
    return Object.fromEntries(COUNTED.map((name, word) => [name, this.words[at + word]])) as Record<
      Counted,
      number
    >;
  }

  /** Shows what a processor's kernel has counted; what is negative is someone else's. */
  publish(processor: number, counters: Published): void {
    const at = this.#at(processor, COUNTERS) + COUNTED.length;
    for (const [word, name] of PUBLISHED.entries()) this.words[at + word] = counters[name];
  }

  published(processor: number): Published {
    const at = this.#at(processor, COUNTERS) + COUNTED.length;
    return Object.fromEntries(PUBLISHED.map((name, word) => [name, this.words[at + word]])) as Published;
  }

  /** Says that a processor cannot go on by itself, having heard so much. Says whether all others cannot either. */
  sticks(processor: number, heard: number): boolean {
    const { words } = this;
    Atomics.store(words, this.#at(processor, HEARD), heard);
    if (Atomics.exchange(words, this.#at(processor, IS_STUCK), 1) === 1)
      return Atomics.load(words, STUCK) === this.shared.processors;
    return Atomics.add(words, STUCK, 1) + 1 === this.shared.processors;
  }

  /** Whether a processor cannot go on, has heard all that it was sent, and has nothing that could be stolen. */
  isStuck(processor: number): boolean {
    const { words } = this;
    const isStuck = Atomics.load(words, this.#at(processor, IS_STUCK)) === 1;
    const heard = Atomics.load(words, this.#at(processor, HEARD));
    return (
      isStuck && Atomics.load(words, this.bellAt(processor)) === heard && this.dequeOf(processor).size === 0
    );
  }

  /** The number of texts, and where each is. */
  get textsAt(): number {
    return this.#layout.textsAt;
  }

  textAt(text: number): number {
    return this.#layout.textsAt + LINE + text * TEXT_WORDS;
  }

  /** Says that a processor sleeps: its bell wakes it. */
  sleeps(processor: number): void {
    Atomics.store(this.words, this.#at(processor, ASLEEP), 1);
  }

  /** Says that it does not sleep for now; whether it is parked is as before. */
  isAwake(processor: number): void {
    Atomics.store(this.words, this.#at(processor, ASLEEP), 0);
  }

  /** Says that it sleeps for long: it is woken also where there is something to steal. */
  parks(processor: number): void {
    this.sleeps(processor);
    const bit = 1 << (processor & 31);
    const before = Atomics.or(this.words, PARKED_BITS + (processor >> 5), bit);
    if ((before & bit) === 0) Atomics.add(this.words, PARKED, 1);
  }

  /** Says that it does not sleep. */
  wakes(processor: number): void {
    Atomics.store(this.words, this.#at(processor, ASLEEP), 0);
    if (Atomics.exchange(this.words, this.#at(processor, IS_STUCK), 0) === 1)
      Atomics.sub(this.words, STUCK, 1);
    this.#unpark(processor);
  }

  /** Has a processor look at what it was sent. */
  ring(processor: number): void {
    const bell = this.bellAt(processor);
    const asleep = this.#at(processor, ASLEEP);
    Atomics.add(this.words, bell, 1);
    if (Atomics.load(this.words, asleep) === 1 && Atomics.exchange(this.words, asleep, 0) === 1)
      Atomics.notify(this.words, bell);
  }

  /** Says that a processor looks around for something to do, unless there are so many already. */
  looks(most: number): boolean {
    if (Atomics.add(this.words, LOOKING, 1) < most) return true;
    Atomics.sub(this.words, LOOKING, 1);
    return false;
  }

  stopsLooking(): void {
    Atomics.sub(this.words, LOOKING, 1);
  }

  /** Wakes one that is parked, if any is and nobody looks around anyway: there is something to steal. */
  wakeOne(): void {
    if (Atomics.load(this.words, PARKED) <= 0 || Atomics.load(this.words, LOOKING) > 0) return;
    for (let word = 0; word * 32 < this.shared.processors; word++) {
      const bits = Atomics.load(this.words, PARKED_BITS + word);
      if (bits === 0) continue;
      const processor = word * 32 + (31 - Math.clz32(bits & -bits));
      if (!this.#unpark(processor)) continue;
      this.ring(processor);
      return;
    }
  }

  /** Whether it was parked until now. */
  #unpark(processor: number): boolean {
    const bit = 1 << (processor & 31);
    const at = PARKED_BITS + (processor >> 5);
    if ((Atomics.load(this.words, at) & bit) === 0) return false;
    if ((Atomics.and(this.words, at, ~bit) & bit) === 0) return false;
    Atomics.sub(this.words, PARKED, 1);
    return true;
  }

  #at(processor: number, word: number): number {
    return this.#layout.processorsAt + processor * this.#layout.processorWords + word;
  }
}

export const MOST_TEXTS = TEXTS;
export const TEXT_BYTES: number = (TEXT_WORDS - 2) * 4;
