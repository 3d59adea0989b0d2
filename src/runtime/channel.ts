import { type ChannelOperation, type Keeper, Receive, Send } from "./channel-operation.ts";
import { RuntimeError } from "./errors.ts";
import type { Kernel } from "./kernel.ts";

export interface ChannelOptions {
  /** How many values it holds before senders wait; 0 for none, so that sender and receiver meet. */
  readonly capacity?: number;
  readonly name?: string;
}

/** What a channel holds, and who waits at it. */
interface Contents<T> {
  readonly values: readonly T[];
  readonly closed: boolean;
  readonly waiting: readonly ChannelOperation<T, unknown>[];
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

  [Symbol.iterator](): IterableIterator<W> {
    return this.#waiting.values();
  }

  clear(): void {
    this.#waiting.clear();
  }
}

/**
 * A bounded queue between fibers. Senders and receivers that wait are served in the order in which they came.
 *
 * One that fibers of several threads use is kept by the main thread. On the others it is a name for that one.
 */
export class Channel<T> {
  readonly name: string | undefined;
  readonly capacity: number;
  readonly #kernel: Kernel;
  readonly #values: T[] = [];
  #head = 0;
  readonly #senders = new Line<Send<T>>();
  readonly #receivers = new Line<Receive<T>>();
  #closed = false;
  #keeper: Keeper | undefined;

  constructor(kernel: Kernel, { capacity = 0, name }: ChannelOptions, keeper?: Keeper) {
    if (!Number.isInteger(capacity) || capacity < 0)
      throw new RuntimeError(
        "InvalidArgument",
        `capacity is ${String(capacity)}; it is a whole number from 0 on`,
      );
    this.#kernel = kernel;
    this.capacity = capacity;
    this.name = name;
    this.#keeper = keeper;
  }

  /** How many values it holds; of one that another thread keeps 0. */
  get size(): number {
    return this.#values.length - this.#head;
  }

  /** Operations that wait at it; of one that another thread keeps none. */
  get waiting(): { readonly senders: number; readonly receivers: number } {
    return { senders: this.#senders.size, receivers: this.#receivers.size };
  }

  /** Of one that another thread keeps: as far as this one knows. */
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
    this.#keeper?.close(this as Channel<unknown>);
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

  /** The thread that keeps it, where that is another one. */
  get keeper(): Keeper | undefined {
    return this.#keeper;
  }

  contents(): Contents<T> {
    return {
      values: this.#values.slice(this.#head),
      closed: this.#closed,
      waiting: [...this.#senders, ...this.#receivers],
    };
  }

  /** Leaves everything to another thread. */
  leaveTo(keeper: Keeper): void {
    this.#keeper = keeper;
    this.#values.length = 0;
    this.#head = 0;
    this.#senders.clear();
    this.#receivers.clear();
  }

  /** Sends now if that is possible; else the operation waits. For operations, which have been paid. */
  offer(value: T): boolean {
    if (this.#closed) throw this.refusal();
    const receiver = this.#receivers.take();
    if (receiver !== undefined) receiver.complete(value);
    else if (this.size < this.capacity) this.#values.push(value);
    else return false;
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

  enqueue(operation: ChannelOperation<T, unknown>): void {
    if (operation.right === "send") this.#senders.add(operation as Send<T>);
    else this.#receivers.add(operation as Receive<T>);
  }

  dequeue(operation: ChannelOperation<T, unknown>): void {
    if (operation.right === "send") this.#senders.delete(operation as Send<T>);
    else this.#receivers.delete(operation as Receive<T>);
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
