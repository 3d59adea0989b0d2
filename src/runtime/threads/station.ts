import { Kernel, type KernelSettings } from "../kernel.ts";
import type { Loop } from "../loop.ts";
import type { Victims } from "../simulation.ts";
import type { Chance } from "./chance.ts";
import { Desk } from "./desk.ts";
import type { Directory } from "./directory.ts";
import { Exchange } from "./exchange.ts";
import { Guests } from "./guests.ts";
import { Home } from "./home.ts";
import { Inbox, type Parts } from "./inbox.ts";
import { type Letter, MainPost, type Post } from "./letters.ts";
import { Mailroom } from "./mail.ts";
import type { Memory } from "./memory.ts";
import type { Recorder } from "./recorder.ts";
import { SplitDeque } from "./split-deque.ts";

/** Shown to thieves: enough for all others, but not so much that all of a processor's fibers get descriptors. */
const SHOWN_PER_PROCESSOR = 2;
const MOST_SHOWN = 64;

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
  /** Told of inquiries, of answers to them, and of what others tell the observer. */
  readonly asked: (letter: Letter) => void;
  /** Told when there is nothing to do. */
  readonly idle: () => void;
  /** Told when no thread can go on by itself. */
  readonly stalled: () => void;
  /** Where it is recorded. */
  readonly recorder: Recorder | undefined;
  /** What decides where it is recorded or replayed. */
  readonly chance: Chance | undefined;
}

/** A station with all that belongs to it. */
export interface Equipped extends Parts {
  readonly station: Station;
  readonly deque: SplitDeque;
  readonly inbox: Inbox;
}

/** The kernel of one of several threads. */
export function makeStation(
  settings: KernelSettings,
  station: Station,
  loopFor: (kernel: Kernel, equipped: Equipped) => Loop,
): Kernel {
  return new Kernel(settings, (made) => loopFor(made, equip(made, station)));
}

/** Gives a kernel what it needs to be that of one of several threads. */
export function equip(kernel: Kernel, station: Station): Equipped {
  const { memory, me, chance } = station;
  const shown = station.settings.stealing
    ? Math.min(MOST_SHOWN, SHOWN_PER_PROCESSOR * memory.shared.processors)
    : 0;
  kernel.firstProcessor = me;
  kernel.table.numberAs(me, memory.shared.processors);
  const home = new Home(kernel, station);
  kernel.elsewhere = home;
  const deque = new SplitDeque(memory.dequeOf(me), home, shown, chance);
  kernel.processor.waitIn(deque);
  const parts: Parts = { home, guests: new Guests(kernel, station), border: borderOf(kernel, station) };
  return { ...parts, station, deque, inbox: new Inbox(station, parts) };
}

function borderOf(kernel: Kernel, { memory, me, post, chance, recorder }: Station): Exchange | Desk {
  // What is replayed is on one thread, where slips would only be read by whoever looks next.
  const mailroom = new Mailroom(memory, me, post, chance === recorder);
  const border = me === 0 ? new Exchange(kernel, memory, mailroom) : new Desk(kernel, memory, mailroom);
  kernel.border = border;
  post.passports = border;
  if (post instanceof MainPost && border instanceof Exchange) post.passed = border.passed.bind(border);
  return border;
}
