import { type ChannelOperation, type Keeper, Receive, Send } from "./channel-operation.ts";
import { RuntimeError } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import {
  CLOSED,
  KEPT_ELSEWHERE,
  NOTHING_THERE,
  PUSHED_IT,
  RECEIVERS_WAIT,
  SENDERS_WAIT,
  type SharedRing,
} from "./threads/shared-ring.ts";

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

  has(operation: W): boolean {
    return this.#waiting.has(operation);
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
  /** What it holds where several threads use it. */
  #ring: SharedRing | undefined;

  constructor(kernel: Kernel, options: ChannelOptions | number) {
    if (typeof options !== "number" && (typeof options !== "object" || options === null))
      throw new RuntimeError("InvalidArgument", "a channel is made with its capacity, or {capacity, name}");
    const { capacity = 0, name } = typeof options === "number" ? { capacity: options } : options;
    if (!Number.isInteger(capacity) || capacity < 0)
      throw new RuntimeError(
        "InvalidArgument",
        `capacity is ${String(capacity)}; it is a whole number from 0 on`,
      );
    this.#kernel = kernel;
    this.capacity = capacity;
    this.name = name;
  }

  /** How many values it holds; 0 where another thread keeps it and there is no telling. */
  get size(): number {
    return this.#ring?.size ?? this.#values.length - this.#head;
  }

  /** Operations that wait at it; of one that another thread keeps none. */
  get waiting(): { readonly senders: number; readonly receivers: number } {
    return { senders: this.#senders.size, receivers: this.#receivers.size };
  }

  /** Of one that another thread keeps, and that holds nothing: as far as this one knows. */
  get closed(): boolean {
    return this.#ring?.isClosed ?? this.#closed;
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
    if (this.#keeper !== undefined) {
      this.#keeper.close(this as Channel<unknown>);
      return;
    }
    this.#ring?.close();
    if (this.#ring === undefined) this.#refuse(this.#receivers);
    else this.serve();
    this.#refuse(this.#senders);
  }

  #refuse(line: Line<Send<T>> | Line<Receive<T>>): void {
    for (let operation = line.take(); operation; operation = line.take()) operation.fail(this.refusal());
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

  /** Leaves everything to another thread, but what is in the ring. */
  leaveTo(keeper: Keeper, ring: SharedRing | undefined): void {
    this.#keeper = keeper;
    this.#ring = ring;
    this.#values.length = 0;
    this.#head = 0;
    this.#senders.clear();
    this.#receivers.clear();
  }

  /** Lets other threads use the ring from now on; who waits, waits here. */
  share(ring: SharedRing): void {
    for (const value of this.#values.splice(0).slice(this.#head)) ring.push(value);
    this.#head = 0;
    this.#ring = ring;
    if (this.#closed) ring.close();
    this.serve();
  }

  get ring(): SharedRing | undefined {
    return this.#ring;
  }

  /** Sends now if that is possible; else the operation waits. For operations, which have been paid. */
  offer(value: T): boolean {
    if (this.#ring !== undefined) return this.#offerTo(this.#ring, value);
    if (this.#keeper !== undefined) return false;
    if (this.#closed) throw this.refusal();
    const receiver = this.#receivers.take();
    if (receiver !== undefined) receiver.complete(value);
    else if (this.size < this.capacity) this.#values.push(value);
    else return false;
    return true;
  }

  #offerTo(ring: SharedRing, value: T): boolean {
    if (ring.isClosed) throw this.refusal();
    if (ring.has(SENDERS_WAIT)) return false;
    const pushed = ring.push(value);
    if (pushed === CLOSED) throw this.refusal();
    if (pushed !== PUSHED_IT) return false;
    if (ring.has(RECEIVERS_WAIT)) this.#nudge(ring);
    return true;
  }

  poll(operation: Receive<T>): boolean {
    if (this.#ring !== undefined) return this.#pollFrom(this.#ring, operation);
    if (this.#keeper !== undefined) return false;
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

  #pollFrom(ring: SharedRing, operation: Receive<T>): boolean {
    if (ring.has(RECEIVERS_WAIT)) return false;
    const value = ring.pop();
    if (value === KEPT_ELSEWHERE) return false;
    if (value === NOTHING_THERE) {
      // In this order: what was pushed before it was closed is there.
      if (ring.isClosed && ring.size === 0) throw this.refusal();
      return false;
    }
    operation.settled(value as T);
    if (ring.has(SENDERS_WAIT)) this.#nudge(ring);
    return true;
  }

  #nudge(ring: SharedRing): void {
    if (this.#keeper === undefined) this.serve();
    else if (ring.nudge()) this.#keeper.nudge(this as Channel<unknown>);
  }

  /** Serves who waits here, now that there may be something in the ring, or room. */
  serve(): void {
    const ring = this.#ring;
    if (ring === undefined) return;
    ring.heed();
    do {
      this.#serveReceivers(ring);
      this.#serveSenders(ring);
      ring.raise(this.#senders.size > 0, this.#receivers.size > 0);
      // Who saw no flag just now has told nobody.
    } while (this.#canServe(ring));
  }

  #canServe(ring: SharedRing): boolean {
    if (this.#receivers.size > 0 && (ring.hasValue || (ring.isClosed && ring.size === 0))) return true;
    return this.#senders.size > 0 && (ring.hasRoom || ring.isClosed);
  }

  #serveReceivers(ring: SharedRing): void {
    while (this.#receivers.size > 0) {
      const value = ring.pop();
      if (value === NOTHING_THERE) break;
      this.#receivers.take()?.complete(value as T);
    }
    if (ring.isClosed && ring.size === 0) this.#refuse(this.#receivers);
  }

  #serveSenders(ring: SharedRing): void {
    for (const sender of this.#senders) {
      if (ring.push(sender.value) !== PUSHED_IT) break;
      this.#senders.take()?.complete();
    }
    if (ring.isClosed) this.#refuse(this.#senders);
  }

  enqueue(operation: ChannelOperation<T, unknown>): void {
    if (operation.right === "send") this.#senders.add(operation as Send<T>);
    else this.#receivers.add(operation as Receive<T>);
    const ring = this.#ring;
    if (ring === undefined) return;
    ring.raise(this.#senders.size > 0, this.#receivers.size > 0);
    // Not now: the fiber is still to be told that it waits.
    if (this.#canServe(ring) && ring.nudge()) this.#kernel.border?.nudge(this as Channel<unknown>);
  }

  dequeue(operation: ChannelOperation<T, unknown>): void {
    if (operation.right === "send") this.#senders.delete(operation as Send<T>);
    else this.#receivers.delete(operation as Receive<T>);
  }

  keepsWaiting(operation: ChannelOperation<T, unknown>): boolean {
    const line: Line<Send<T>> | Line<Receive<T>> =
      operation.right === "send" ? this.#senders : this.#receivers;
    return line.has(operation as Send<T> & Receive<T>);
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
