import { allowsChannel, type ChannelRight } from "./capabilities.ts";
import { RuntimeError } from "./errors.ts";
import { DONE, Instruction, type Progress, STUCK } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";

export interface ChannelOptions {
  /** How many values it holds before senders wait; 0 for none, so that sender and receiver meet. */
  readonly capacity?: number;
  readonly name?: string;
}

/** Fibers that wait at a channel, in order; any of them can leave. */
class Line<W extends ChannelOperation<unknown, unknown>> {
  readonly #waiting = new Set<W>();

  add(operation: W): void {
    this.#waiting.add(operation);
  }

  delete(operation: W): void {
    this.#waiting.delete(operation);
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The first that still wants it. */
  take(): W | undefined {
    for (const operation of this.#waiting) {
      this.#waiting.delete(operation);
      if (operation.claim()) return operation;
    }
    return undefined;
  }
}

/** A bounded queue between fibers. Senders and receivers that wait are served in the order in which they came. */
export class Channel<T> {
  readonly name: string | undefined;
  readonly capacity: number;
  readonly #kernel: Kernel;
  readonly #values: T[] = [];
  #head = 0;
  readonly #senders = new Line<Send<T>>();
  readonly #receivers = new Line<Receive<T>>();
  #closed = false;

  constructor(kernel: Kernel, { capacity = 0, name }: ChannelOptions) {
    if (!Number.isInteger(capacity) || capacity < 0)
      throw new RuntimeError(
        "InvalidArgument",
        `capacity is ${String(capacity)}; it is a whole number from 0 on`,
      );
    this.#kernel = kernel;
    this.capacity = capacity;
    this.name = name;
  }

  get size(): number {
    return this.#values.length - this.#head;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Waits while it is full. Throws where it is closed. */
  send(value: T): Send<T> {
    return new Send<T>(this, value);
  }

  /** Waits while it is empty. Throws where it is closed and empty. */
  recv(): Receive<T> {
    return new Receive<T>(this);
  }

  /** No more can be sent. What is in it can still be received; who waits in vain is told. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (let receiver = this.#receivers.take(); receiver; receiver = this.#receivers.take())
      receiver.fail(this.refusal());
    for (let sender = this.#senders.take(); sender; sender = this.#senders.take())
      sender.fail(this.refusal());
  }

  refusal(): RuntimeError {
    return new RuntimeError("ChannelClosed", `the ${this.describe()} is closed`);
  }

  describe(): string {
    return this.name === undefined ? "channel" : `channel ${this.name}`;
  }

  /** Sends now if that is possible; else the operation waits. For operations, which have been paid. */
  offer(operation: Send<T>, value: T): boolean {
    if (this.#closed) throw this.refusal();
    const receiver = this.#receivers.take();
    if (receiver !== undefined) receiver.complete(value);
    else if (this.size < this.capacity) this.#values.push(value);
    else return false;
    operation.settled();
    return true;
  }

  poll(operation: Receive<T>): boolean {
    if (this.size > 0) {
      operation.settled(this.#shift());
      const sender = this.#senders.take();
      if (sender !== undefined) {
        this.#values.push(sender.value);
        sender.complete();
      }
      return true;
    }
    const sender = this.#senders.take();
    if (sender !== undefined) {
      operation.settled(sender.value);
      sender.complete();
      return true;
    }
    if (this.#closed) throw this.refusal();
    return false;
  }

  enqueue(operation: Send<T> | Receive<T>): void {
    if (operation instanceof Send) this.#senders.add(operation);
    else this.#receivers.add(operation);
  }

  dequeue(operation: Send<T> | Receive<T>): void {
    if (operation instanceof Send) this.#senders.delete(operation);
    else this.#receivers.delete(operation);
  }

  belongsTo(kernel: Kernel): boolean {
    return kernel === this.#kernel;
  }

  #shift(): T {
    const value = this.#values[this.#head++] as T;
    if (this.#head * 2 > this.#values.length || this.#head === this.#values.length) {
      this.#values.splice(0, this.#head);
      this.#head = 0;
    }
    return value;
  }
}

/** Who is told when an operation that waited is done: the fiber, or the `select` that it is part of. */
export interface Claimant {
  /** Whether it still wants it; at most one of a `select`'s operations is told so. */
  claim(): boolean;
  wake(): void;
}

/** A send or a receive. By itself it is an instruction; in a `select` it is one of its cases. */
export abstract class ChannelOperation<T, R> extends Instruction<R> {
  protected readonly channel: Channel<T>;
  readonly #right: ChannelRight;
  #claimant: Claimant | undefined;
  #error: Error | undefined;

  constructor(channel: Channel<T>, right: ChannelRight) {
    super();
    this.channel = channel;
    this.#right = right;
  }

  start(kernel: Kernel, slot: number): Progress {
    const lacking = this.pay(kernel, slot);
    if (lacking !== undefined) return lacking;
    if (this.attempt()) return DONE;
    this.waitFor({ claim: () => true, wake: () => kernel.wake(slot) });
    return STUCK;
  }

  pay(kernel: Kernel, slot: number): ReturnType<Kernel["charge"]> {
    this.check(kernel, slot);
    return kernel.charge(slot, "channelOps", 1);
  }

  /** Refuses who may not. */
  check(kernel: Kernel, slot: number): void {
    if (!this.channel.belongsTo(kernel))
      throw new RuntimeError("InvalidArgument", `the ${this.channel.describe()} belongs to another runtime`);
    kernel.check(slot, "channel", this.#right, kernel.holdingsOf(slot).channel, allowsChannel);
    this.#error = undefined;
  }

  /** Does it now if that is possible. */
  abstract attempt(): boolean;

  abstract waitFor(claimant: Claimant): void;

  protected setClaimant(claimant: Claimant): void {
    this.#claimant = claimant;
  }

  claim(): boolean {
    return this.#claimant?.claim() ?? false;
  }

  fail(error: Error): void {
    this.#error = error;
    this.wake();
  }

  wake(): void {
    this.#claimant?.wake();
  }

  protected throwIfFailed(): void {
    if (this.#error !== undefined) throw this.#error;
  }
}

class Send<T> extends ChannelOperation<T, void> {
  readonly value: T;

  constructor(channel: Channel<T>, value: T) {
    super(channel, "send");
    this.value = value;
  }

  attempt(): boolean {
    return this.channel.offer(this, this.value);
  }

  waitFor(claimant: Claimant): void {
    this.setClaimant(claimant);
    this.channel.enqueue(this);
  }

  settled(): void {}

  complete(): void {
    this.wake();
  }

  result(): void {
    this.throwIfFailed();
  }

  abandon(): void {
    this.channel.dequeue(this);
  }

  describe(): string {
    return `room in ${this.channel.describe()}`;
  }
}

class Receive<T> extends ChannelOperation<T, T> {
  #value: T | undefined;

  constructor(channel: Channel<T>) {
    super(channel, "receive");
  }

  attempt(): boolean {
    return this.channel.poll(this);
  }

  waitFor(claimant: Claimant): void {
    this.setClaimant(claimant);
    this.channel.enqueue(this);
  }

  settled(value: T): void {
    this.#value = value;
  }

  complete(value: T): void {
    this.#value = value;
    this.wake();
  }

  result(): T {
    this.throwIfFailed();
    return this.#value as T;
  }

  abandon(): void {
    this.channel.dequeue(this);
  }

  describe(): string {
    return `a value in ${this.channel.describe()}`;
  }
}
