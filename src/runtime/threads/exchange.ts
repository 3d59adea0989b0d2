import { Channel } from "../channel.ts";
import type { ChannelOperation } from "../channel-operation.ts";
import type { Border, Kernel } from "../kernel.ts";
import { type Kept, notOurs, type SentCase } from "./desk.ts";
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
import type { Passage, Ticket } from "./passing.ts";
import { makeRing, SharedRing } from "./shared-ring.ts";

interface Shared {
  readonly channel: Channel<unknown>;
  /** How many tickets each thread has. */
  readonly holders: Map<number, number>;
}

/**
 * The channels that several threads use. The main thread keeps all of them, so that a `select` over any of them is decided by
 * one: its own fibers use them as any others, and what fibers of other threads ask for comes by mail.
 */
export class Exchange implements Border {
  readonly waiting = 0;
  readonly #kernel: Kernel;
  readonly #memory: Memory;
  readonly #mailroom: Mailroom;
  readonly #numbers = new WeakMap<Channel<unknown>, number>();
  readonly #shared = new Map<number, Shared>();
  /** Operations that wait, by thread and number. */
  readonly #visitors = new Map<number, Map<number, Visitor>>();
  /** What came by slip before the letter with the channel that it is about. */
  readonly #early = new Map<number, Mail[]>();

  readonly #dropped: Mail[] = [];

  constructor(kernel: Kernel, memory: Memory, mailroom: Mailroom) {
    this.#kernel = kernel;
    this.#memory = memory;
    this.#mailroom = mailroom;
  }

  /** Channels of the main thread stay where they are. */
  send(): void {}

  ticketOf(channel: Channel<unknown>): Ticket {
    if (!channel.belongsTo(this.#kernel)) throw notOurs(channel);
    const number = this.#numbers.get(channel) ?? this.#memory.nextChannel();
    this.#numbers.set(channel, number);
    if (!this.#shared.has(number)) this.#shared.set(number, { channel, holders: new Map() });
    const { capacity, name } = channel;
    const ring = channel.ring?.words ?? (this.#memory.shared.recorded ? undefined : makeRing(capacity));
    if (channel.ring === undefined && ring !== undefined) channel.share(new SharedRing(ring, capacity, true));
    return { channel: number, capacity, name, ring };
  }

  channelOf({ channel }: Ticket): Channel<unknown> {
    return (this.#shared.get(channel) as Shared).channel;
  }

  nudge(channel: Channel<unknown>): void {
    this.#mailroom.send(0, NUDGE, 0, this.#numbers.get(channel) as number, 0, undefined);
  }

  /** Told of letters with channels in them; all go through the main thread. */
  passed(to: number, passages: readonly Passage[]): void {
    if (to !== 0) for (const { ticket } of passages) this.#hand(ticket.channel, to);
  }

  #hand(number: number, to: number): void {
    const holders = this.#shared.get(number)?.holders;
    holders?.set(to, (holders.get(to) ?? 0) + 1);
  }

  take(mail: Mail): void {
    const { kind, from, operation, channel: number, value } = mail;
    if (kind === KEEP) this.#keep(value as Kept, from);
    else if (kind === DROP) this.#dropped.push(mail);
    else if (kind === WITHDRAW) this.#withdraw(from, operation);
    else if (!this.#isKnown(mail)) return;
    else if (kind === NUDGE) this.#shared.get(number)?.channel.serve();
    else if (kind === CLOSE) this.#shared.get(number)?.channel.close();
    else if (kind === SELECT) this.#visit(mail, value as readonly SentCase[]);
    else if (kind === SEND || kind === RECEIVE)
      this.#visit(mail, [{ channel: number, isSend: kind === SEND, value }]);
  }

  #isKnown(mail: Mail): boolean {
    const numbers =
      mail.kind === SELECT ? (mail.value as SentCase[]).map(({ channel }) => channel) : [mail.channel];
    const unknown = numbers.find((number) => !this.#shared.has(number));
    if (unknown === undefined) return true;
    const early = this.#early.get(unknown) ?? [];
    this.#early.set(unknown, [...early, mail]);
    return false;
  }

  #keep({ channel: number, capacity, name, closed, values, ring }: Kept, from: number): void {
    const channel = new Channel<unknown>(
      this.#kernel,
      name === undefined ? { capacity } : { capacity, name },
    );
    for (const value of values) channel.offer(value);
    if (closed) channel.close();
    if (ring !== undefined) channel.share(new SharedRing(ring, capacity, true));
    this.#numbers.set(channel, number);
    this.#shared.set(number, { channel, holders: new Map([[from, 1]]) });
    const early = this.#early.get(number) ?? [];
    this.#early.delete(number);
    for (const mail of early) this.take(mail);
  }

  /** Lets go of channels that no other thread has any more; to be called after slips were read, which may be older. */
  letGo(): void {
    for (const { channel: number, from, value } of this.#dropped.splice(0)) {
      const holders = this.#shared.get(number)?.holders;
      if (holders === undefined) continue;
      const left = (holders.get(from) ?? 0) - (value as number);
      if (left > 0) holders.set(from, left);
      else holders.delete(from);
      if (holders.size === 0) this.#shared.delete(number);
    }
  }

  #visit({ from, operation }: Mail, cases: readonly SentCase[]): void {
    const operations = cases.map(({ channel: number, isSend, value }) => {
      const { channel } = this.#shared.get(number) as Shared;
      return (isSend ? channel.send(value) : channel.recv()) as ChannelOperation<unknown, unknown>;
    });
    const visitor = new Visitor(operations, (index) => {
      this.#visitors.get(from)?.delete(operation);
      this.#answer(from, operation, index, operations[index] as ChannelOperation<unknown, unknown>);
    });
    if (visitor.begin(this.#kernel.nextSelect())) return;
    const visitors = this.#visitors.get(from) ?? new Map<number, Visitor>();
    this.#visitors.set(from, visitors.set(operation, visitor));
  }

  #answer(to: number, operation: number, index: number, done: ChannelOperation<unknown, unknown>): void {
    let value: unknown;
    try {
      value = done.result();
    } catch {
      this.#mailroom.send(to, CLOSED, operation, 0, index, undefined);
      return;
    }
    try {
      this.#mailroom.send(to, DONE, operation, 0, index, value);
    } catch {
      const words = `a value in the ${done.channel.describe()} cannot be sent to another thread: it is not structured-clonable`;
      this.#mailroom.send(to, REFUSED, operation, 0, index, words);
    }
  }

  #withdraw(from: number, operation: number): void {
    const visitor = this.#visitors.get(from)?.get(operation);
    if (visitor === undefined) return;
    visitor.leave();
    this.#visitors.get(from)?.delete(operation);
    this.#mailroom.send(from, WITHDRAWN, operation, 0, 0, undefined);
  }

  /** Forgets a thread that has died: nobody there waits any more, and it has no channels. */
  forget(dead: number): void {
    for (const visitor of this.#visitors.get(dead)?.values() ?? []) visitor.leave();
    this.#visitors.delete(dead);
    for (const [number, { holders }] of this.#shared) {
      holders.delete(dead);
      if (holders.size === 0) this.#shared.delete(number);
    }
  }
}

/** Operations of one fiber of another thread, of which one is to be done. */
class Visitor {
  readonly #operations: readonly ChannelOperation<unknown, unknown>[];
  readonly #done: (index: number) => void;
  #chosen = -1;

  constructor(operations: readonly ChannelOperation<unknown, unknown>[], done: (index: number) => void) {
    this.#operations = operations;
    this.#done = done;
  }

  /** Whether one of them was done, or refused, at once. Begins with another one each time. */
  begin(first: number): boolean {
    const { length } = this.#operations;
    for (let i = 0; i < length; i++) {
      const index = (first + i) % length;
      if (!this.#attempt(this.#operations[index] as ChannelOperation<unknown, unknown>)) continue;
      this.#done(index);
      return true;
    }
    for (const [index, operation] of this.#operations.entries()) this.#watch(operation, index);
    return false;
  }

  #attempt(operation: ChannelOperation<unknown, unknown>): boolean {
    try {
      return operation.attempt();
    } catch (error) {
      operation.fail(error as Error);
      return true;
    }
  }

  #watch(operation: ChannelOperation<unknown, unknown>, index: number): void {
    operation.waitFor({
      claim: () => {
        if (this.#chosen >= 0) return false;
        this.#chosen = index;
        return true;
      },
      wake: () => {
        this.leave();
        this.#done(index);
      },
      follow: () => undefined,
    });
  }

  leave(): void {
    for (const operation of this.#operations) operation.abandon();
  }
}
