import { allowsChannel, type ChannelRight } from "./capabilities.ts";
import type { Channel } from "./channel.ts";
import { RuntimeError } from "./errors.ts";
import { DONE, Instruction, type Progress, STUCK } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";

/** Who is told when an operation that waited is done: the fiber, or the `select` that it is part of. */
export interface Claimant {
  /** Whether it still wants it; at most one of a `select`'s operations is told so. */
  claim(): boolean;
  wake(): void;
  /** Told when one of the channels has gone to another thread: the operation goes there as well. */
  follow(): void;
}

/** Operations of a fiber, of which one is to be done, that are at the thread which keeps their channels. */
export interface Visit {
  /** Takes them back, and calls back if that was in time. */
  withdraw(told: () => void): void;
  /** Takes them back, and does not want to hear of it. */
  forget(): void;
}

/** Another thread that keeps channels. */
export interface Keeper {
  visit(operations: readonly ChannelOperation<unknown, unknown>[]): Visit;
  close(channel: Channel<unknown>): void;
  /** Has the keeper look after who waits there. */
  nudge(channel: Channel<unknown>): void;
}

/** A send or a receive. By itself it is an instruction; in a `select` it is one of its cases. */
export abstract class ChannelOperation<T, R> extends Instruction<R> {
  readonly channel: Channel<T>;
  readonly right: ChannelRight;
  #claimant: Claimant | undefined;
  #visit: Visit | undefined;
  #error: Error | undefined;

  constructor(channel: Channel<T>, right: ChannelRight) {
    super();
    this.channel = channel;
    this.right = right;
  }

  start(kernel: Kernel, slot: number): Progress {
    if (this.channel.keepsWaiting(this))
      throw new RuntimeError(
        "InvalidArgument",
        `another fiber waits by the same ${this.right}: each calls ${this.right === "send" ? "send(value)" : "recv()"} itself`,
      );
    const lacking = this.pay(kernel, slot);
    if (lacking !== undefined) return lacking;
    if (this.attempt()) return DONE;
    const { keeper } = this.channel;
    this.setClaimant({
      claim: () => true,
      wake: () => kernel.wake(slot),
      follow: () => this.#visitAt(this.channel.keeper as Keeper),
    });
    if (keeper === undefined) this.channel.enqueue(this);
    else this.#visitAt(keeper);
    return STUCK;
  }

  #visitAt(keeper: Keeper): void {
    this.#visit = keeper.visit([this as ChannelOperation<unknown, unknown>]);
  }

  pay(kernel: Kernel, slot: number): ReturnType<Kernel["meter"]["charge"]> {
    this.check(kernel, slot);
    return kernel.meter.charge(slot, "channelOps", 1);
  }

  /** Refuses who may not. */
  check(kernel: Kernel, slot: number): void {
    if (!this.channel.belongsTo(kernel))
      throw new RuntimeError("InvalidArgument", `the ${this.channel.describe()} belongs to another runtime`);
    kernel.check(slot, "channel", this.right, kernel.holdingsOf(slot).channel, allowsChannel);
    this.#error = undefined;
  }

  /** Does it now if that is possible. */
  abstract attempt(): boolean;

  /** Done after all, with the value where it is a receive. */
  abstract complete(value?: unknown): void;

  waitFor(claimant: Claimant): void {
    this.setClaimant(claimant);
    this.channel.enqueue(this);
  }

  setClaimant(claimant: Claimant): void {
    this.#claimant = claimant;
  }

  /** Goes to where its channel is now. */
  follow(): void {
    try {
      this.#claimant?.follow();
    } catch (error) {
      if (this.claim()) this.fail(error as Error);
    }
  }

  claim(): boolean {
    return this.#claimant?.claim() ?? false;
  }

  fail(error: Error): void {
    this.#error = error;
    this.wake();
  }

  protected wake(): void {
    this.#claimant?.wake();
  }

  protected throwIfFailed(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  abandon(): void {
    this.#visit?.forget();
    this.channel.dequeue(this);
  }
}

export class Send<T> extends ChannelOperation<T, void> {
  readonly value: T;

  constructor(channel: Channel<T>, value: T) {
    super(channel, "send");
    this.value = value;
  }

  attempt(): boolean {
    return this.channel.offer(this.value);
  }

  complete(): void {
    this.wake();
  }

  result(): void {
    this.throwIfFailed();
  }

  describe(): string {
    return `room in ${this.channel.describe()}`;
  }
}

export class Receive<T> extends ChannelOperation<T, T> {
  #value: T | undefined;

  constructor(channel: Channel<T>) {
    super(channel, "receive");
  }

  attempt(): boolean {
    return this.channel.poll(this);
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

  describe(): string {
    return `a value in ${this.channel.describe()}`;
  }
}
