import { Channel } from "../channel.ts";
import { type ChannelOperation, type Keeper, Send, type Visit } from "../channel-operation.ts";
import { RuntimeError } from "../errors.ts";
import type { Border, Kernel } from "../kernel.ts";
import {
  CLOSE,
  CLOSED,
  DONE,
  DROP,
  KEEP,
  type Mail,
  type Mailroom,
  NUDGE,
  RECEIVE,
  REFUSED,
  SELECT,
  SEND,
  WITHDRAW,
  WITHDRAWN,
} from "./mail.ts";
import type { Memory } from "./memory.ts";
import type { Ticket } from "./passing.ts";
import { makeRing, SharedRing } from "./shared-ring.ts";

type Operation = ChannelOperation<unknown, unknown>;

/** One of the cases of a `select`, as it is sent. */
export interface SentCase {
  readonly channel: number;
  readonly isSend: boolean;
  readonly value: unknown;
}

/** A channel that goes to the main thread. */
export interface Kept extends Ticket {
  readonly closed: boolean;
  readonly values: readonly unknown[];
}

interface Waiting {
  readonly operations: readonly Operation[];
  withdrawn: (() => void) | undefined;
}

const MAIN = 0;

/** Where fibers of a thread use channels that the main thread keeps. */
export class Desk implements Keeper, Border {
  readonly #kernel: Kernel;
  readonly #memory: Memory;
  readonly #mailroom: Mailroom;
  readonly #numbers = new WeakMap<Channel<unknown>, number>();
  readonly #channels = new Map<number, { readonly channel: WeakRef<Channel<unknown>>; tickets: number }>();
  readonly #gone: FinalizationRegistry<number>;
  readonly #waiting = new Map<number, Waiting>();
  #operations = 0;

  constructor(kernel: Kernel, memory: Memory, mailroom: Mailroom) {
    this.#kernel = kernel;
    this.#memory = memory;
    this.#mailroom = mailroom;
    this.#gone = new FinalizationRegistry((number) => this.#drop(number));
  }

  /** Operations that the main thread has not answered yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Lets a channel of this thread be kept by the main one. */
  send(channel: Channel<unknown>): void {
    if (channel.keeper !== undefined) return;
    const number = this.#memory.nextChannel();
    const { capacity, name } = channel;
    const { values, closed, waiting } = channel.contents();
    const ring = this.#memory.shared.recorded ? undefined : makeRing(capacity);
    const kept: Kept = { channel: number, capacity, name, closed, values, ring };
    this.#mailroom.send(MAIN, KEEP, 0, number, 0, kept);
    this.#know(number, channel);
    channel.leaveTo(this, ring === undefined ? undefined : new SharedRing(ring, capacity, false));
    for (const operation of waiting) operation.follow();
  }

  ticketOf(channel: Channel<unknown>): Ticket {
    if (!channel.belongsTo(this.#kernel)) throw notOurs(channel);
    this.send(channel);
    const { capacity, name } = channel;
    return { channel: this.#numbers.get(channel) as number, capacity, name, ring: channel.ring?.words };
  }

  channelOf({ channel: number, capacity, name, ring }: Ticket): Channel<unknown> {
    const known = this.#channels.get(number);
    const channel = known?.channel.deref();
    if (known !== undefined && channel !== undefined) {
      known.tickets++;
      return channel;
    }
    const options = name === undefined ? { capacity } : { capacity, name };
    const made = new Channel<unknown>(this.#kernel, options);
    made.leaveTo(this, ring === undefined ? undefined : new SharedRing(ring, capacity, false));
    // Tickets of one that is gone, but was not told of yet, are given back with this one's.
    this.#know(number, made, known?.tickets);
    return made;
  }

  #know(number: number, channel: Channel<unknown>, tickets = 0): void {
    this.#numbers.set(channel, number);
    this.#channels.set(number, { channel: new WeakRef(channel), tickets: tickets + 1 });
    this.#gone.register(channel, number);
  }

  #drop(number: number): void {
    const known = this.#channels.get(number);
    // A recording knows nothing of when memory is freed.
    if (known === undefined || known.channel.deref() !== undefined || this.#memory.shared.recorded) return;
    this.#channels.delete(number);
    this.#mailroom.send(MAIN, DROP, 0, number, 0, known.tickets);
  }

  visit(operations: readonly Operation[]): Visit {
    const number = ++this.#operations;
    this.#ask(number, operations);
    const waiting: Waiting = { operations, withdrawn: undefined };
    this.#waiting.set(number, waiting);
    return {
      withdraw: (told) => {
        waiting.withdrawn = told;
        this.#withdraw(number);
      },
      forget: () => {
        this.#withdraw(number);
        this.#waiting.delete(number);
      },
    };
  }

  #withdraw(number: number): void {
    if (this.#waiting.has(number)) this.#mailroom.send(MAIN, WITHDRAW, number, 0, 0, undefined);
  }

  #ask(number: number, operations: readonly Operation[]): void {
    const [first] = operations;
    try {
      if (operations.length > 1 || first === undefined)
        this.#mailroom.send(
          MAIN,
          SELECT,
          number,
          0,
          0,
          operations.map((one) => this.#sent(one)),
        );
      else {
        const { channel, isSend, value } = this.#sent(first);
        this.#mailroom.send(MAIN, isSend ? SEND : RECEIVE, number, channel, 0, value);
      }
    } catch (cause) {
      throw new RuntimeError(
        "InvalidArgument",
        "what is sent to another thread has to be structured-clonable",
        { cause },
      );
    }
  }

  #sent(operation: Operation): SentCase {
    const channel = this.#numbers.get(operation.channel) as number;
    const isSend = operation instanceof Send;
    return { channel, isSend, value: isSend ? operation.value : undefined };
  }

  close(channel: Channel<unknown>): void {
    this.#mailroom.send(MAIN, CLOSE, 0, this.#numbers.get(channel) as number, 0, undefined);
  }

  nudge(channel: Channel<unknown>): void {
    this.#mailroom.send(MAIN, NUDGE, 0, this.#numbers.get(channel) as number, 0, undefined);
  }

  letGo(): void {}

  forget(): void {}

  /** What the main thread has answered. Operations that are not here any more were abandoned meanwhile. */
  take({ kind, operation: number, index, value }: Mail): void {
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return;
    this.#waiting.delete(number);
    const operation = waiting.operations[index];
    if (kind === WITHDRAWN) waiting.withdrawn?.();
    else if (operation?.claim() !== true) return;
    else if (kind === DONE) operation.complete(value);
    else if (kind === CLOSED) operation.fail(operation.channel.refusal());
    else if (kind === REFUSED) operation.fail(new RuntimeError("InvalidArgument", String(value)));
  }
}

export function notOurs(channel: Channel<unknown>): RuntimeError {
  return new RuntimeError("InvalidArgument", `the ${channel.describe()} belongs to another runtime`);
}
