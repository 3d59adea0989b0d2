import { allowsSyscall, type SyscallKind } from "./capabilities.ts";
import { RuntimeError } from "./errors.ts";
import { DONE, Instruction, type Progress, STUCK } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";

/** Charges memory. */
export class Allocation extends Instruction<void> {
  readonly #bytes: number;

  constructor(bytes: number) {
    super();
    if (!Number.isSafeInteger(bytes) || bytes < 0)
      throw new RuntimeError("InvalidArgument", `bytes is ${String(bytes)}; it is a whole number from 0 on`);
    this.#bytes = bytes;
  }

  start(kernel: Kernel, slot: number): Progress {
    return kernel.meter.charge(slot, "memory", this.#bytes) ?? DONE;
  }

  result(): void {}

  abandon(): void {}

  describe(): string {
    return `${this.#bytes} bytes of memory`;
  }
}

/** Calls what reaches outside, and waits for it where it is a promise. */
export class Syscall<R> extends Instruction<R> {
  readonly #kind: SyscallKind;
  readonly #call: () => R | PromiseLike<R>;
  #value: R | undefined;
  #thrown: { readonly error: unknown } | undefined;
  #forget: (() => void) | undefined;

  constructor(kind: SyscallKind, call: () => R | PromiseLike<R>) {
    super();
    this.#kind = kind;
    this.#call = call;
  }

  start(kernel: Kernel, slot: number): Progress {
    kernel.check(slot, "syscall", this.#kind, kernel.holdingsOf(slot).syscall, allowsSyscall);
    const lacking = kernel.meter.charge(slot, "syscalls", 1);
    if (lacking !== undefined) return lacking;
    const called = this.#call();
    if (!isPromiseLike(called)) {
      this.#value = called;
      return DONE;
    }
    this.#forget = kernel.outside(slot, called, (value, thrown) => {
      this.#value = value as R;
      this.#thrown = thrown;
    });
    return STUCK;
  }

  result(): R {
    if (this.#thrown) throw this.#thrown.error;
    return this.#value as R;
  }

  abandon(): void {
    this.#forget?.();
  }

  describe(): string {
    return `an answer of the ${this.#kind}`;
  }
}

export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}
