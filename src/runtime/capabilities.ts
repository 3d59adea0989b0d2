// Capabilities are objects that only a runtime can make: their fields are private, and their constructors ask for a key
// that never leaves this file. What the runtime itself does with them are functions of this file rather than methods, so
// that whoever holds a capability can attenuate and revoke it, and nothing else.

import { Account, type Budget, type Component, readBudget, UNLIMITED } from "./budget.ts";
import { RuntimeError } from "./errors.ts";

const MINT: unique symbol = Symbol("mint");

export type SyscallKind = "files" | "network" | "time" | "randomness";

const SYSCALL_KINDS: readonly SyscallKind[] = ["files", "network", "time", "randomness"];

interface Delegation {
  /** Whether its holder may hand it on to children; false unless said, and never more than its source allows. */
  readonly delegable?: boolean;
}

/** What a capability that was copied from another thread depends on there. */
export interface Grant {
  readonly numbers: readonly number[];
  isLive(): boolean;
}

let kindOf: (value: unknown) => unknown;
let isLiveOf: (capability: Capability) => boolean;
let comesFrom: (capability: Capability, source: Capability) => boolean;
let onRevoked: (capability: Capability, told: () => void) => void;
let bindTo: (capability: Capability, grant: Grant) => void;
let grantsOf: (capability: Capability) => number[];

export abstract class Capability {
  readonly #from: Capability | undefined;
  readonly #delegable: boolean;
  readonly #kind: unknown;
  #revoked = false;
  #grant: Grant | undefined;
  #told: (() => void)[] | undefined;

  constructor(key: symbol, from: Capability | undefined, delegable: boolean) {
    if (key !== MINT)
      throw new RuntimeError(
        "CapabilityDenied",
        "capabilities are granted by a runtime and attenuated from others",
      );
    this.#kind = new.target;
    this.#from = from;
    this.#delegable = delegable && (from === undefined || from.#delegable);
  }

  get delegable(): boolean {
    return this.#delegable;
  }

  /** Takes it back, and all that was attenuated from it. */
  revoke(): void {
    this.#revoked = true;
    for (const told of this.#told ?? []) told();
  }

  static {
    kindOf = (value) =>
      typeof value === "object" && value !== null && #kind in value ? value.#kind : undefined;
    isLiveOf = (capability) => {
      for (let at: Capability | undefined = capability; at !== undefined; at = at.#from)
        if (at.#revoked || at.#grant?.isLive() === false) return false;
      return true;
    };
    onRevoked = (capability, told) => {
      for (let at: Capability | undefined = capability; at !== undefined; at = at.#from) {
        at.#told ??= [];
        at.#told.push(told);
      }
    };
    bindTo = (capability, grant) => {
      capability.#grant = grant;
    };
    grantsOf = (capability) => {
      const numbers: number[] = [];
      for (let at: Capability | undefined = capability; at !== undefined; at = at.#from)
        numbers.push(...(at.#grant?.numbers ?? []));
      return numbers;
    };
    comesFrom = (capability, source) => {
      for (let at: Capability | undefined = capability; at !== undefined; at = at.#from)
        if (at === source) return true;
      return false;
    };
  }
}

let spawnOnce: (capability: CapSpawn) => boolean;
let countDown: (capability: CapSpawn) => void;
let isUnlimited: (capability: CapSpawn) => boolean;

/** The right to spawn, if limited so many times. */
export class CapSpawn extends Capability {
  readonly #from: CapSpawn | undefined;
  #left: number;

  constructor(key: symbol, limit: number, delegable: boolean, from?: CapSpawn) {
    super(key, from, delegable);
    this.#from = from;
    this.#left = limit;
  }

  attenuate({
    limit = Number.POSITIVE_INFINITY,
    delegable = false,
  }: Delegation & { limit?: number } = {}): CapSpawn {
    return new CapSpawn(MINT, readLimit(limit), delegable, itself(this, CapSpawn));
  }

  static {
    isUnlimited = (capability) => {
      for (let at: CapSpawn | undefined = capability; at !== undefined; at = at.#from)
        if (at.#left !== Number.POSITIVE_INFINITY) return false;
      return true;
    };
    spawnOnce = (capability) => {
      let isCounted = false;
      for (let at: CapSpawn | undefined = capability; at !== undefined; at = at.#from) {
        if (at.#left <= 0) return false;
        if (at.#left !== Number.POSITIVE_INFINITY) isCounted = true;
      }
      if (isCounted) countDown(capability);
      return true;
    };
    countDown = (capability) => {
      for (let at: CapSpawn | undefined = capability; at !== undefined; at = at.#from)
        if (at.#left !== Number.POSITIVE_INFINITY) at.#left--;
    };
  }
}

let drawFrom: (capability: CapBudget, amounts: Partial<Budget>) => boolean;

/** The right of a fiber to recharge itself from its nursery's pool, up to a limit. */
export class CapBudget extends Capability {
  readonly #from: CapBudget | undefined;
  readonly #left: Account;

  constructor(key: symbol, limit: Budget, delegable: boolean, from?: CapBudget) {
    super(key, from, delegable);
    this.#from = from;
    this.#left = new Account(limit);
  }

  attenuate(limit: Partial<Budget>, { delegable = false }: Delegation = {}): CapBudget {
    const from = itself(this, CapBudget);
    return new CapBudget(MINT, readBudget(limit, from.#left.toBudget(), "limit"), delegable, from);
  }

  static {
    drawFrom = (capability, amounts) => {
      const asked = Object.entries(amounts) as [Component, number][];
      for (let at: CapBudget | undefined = capability; at !== undefined; at = at.#from)
        for (const [component, amount] of asked) if (at.#left[component] < amount) return false;
      for (let at: CapBudget | undefined = capability; at !== undefined; at = at.#from)
        for (const [component, amount] of asked) at.#left[component] -= amount;
      return true;
    };
  }
}

let channelAllows: (capability: CapChannel, operation: ChannelRight) => boolean;
let rightsOf: (capability: CapChannel) => readonly ChannelRight[];

export type ChannelRight = "send" | "receive";

/** The right to use channels. */
export class CapChannel extends Capability {
  readonly #rights: readonly ChannelRight[];

  constructor(key: symbol, rights: readonly ChannelRight[], delegable: boolean, from?: CapChannel) {
    super(key, from, delegable);
    this.#rights = rights;
  }

  attenuate(rights: readonly ChannelRight[], { delegable = false }: Delegation = {}): CapChannel {
    const from = itself(this, CapChannel);
    return new CapChannel(
      MINT,
      from.#rights.filter((right) => rights.includes(right)),
      delegable,
      from,
    );
  }

  static {
    rightsOf = (capability) => capability.#rights;
    channelAllows = (capability, operation) => capability.#rights.includes(operation);
  }
}

let syscallAllows: (capability: CapSyscall, kind: SyscallKind) => boolean;
let kindsOf: (capability: CapSyscall) => readonly SyscallKind[];

/** The right to reach outside: files, the network, the time, randomness. */
export class CapSyscall extends Capability {
  readonly #kinds: readonly SyscallKind[];

  constructor(key: symbol, kinds: readonly SyscallKind[], delegable: boolean, from?: CapSyscall) {
    super(key, from, delegable);
    this.#kinds = kinds;
  }

  attenuate(kinds: readonly SyscallKind[], { delegable = false }: Delegation = {}): CapSyscall {
    const from = itself(this, CapSyscall);
    return new CapSyscall(
      MINT,
      from.#kinds.filter((kind) => kinds.includes(kind)),
      delegable,
      from,
    );
  }

  static {
    kindsOf = (capability) => capability.#kinds;
    syscallAllows = (capability, kind) => capability.#kinds.includes(kind);
  }
}

/** A capability of the task's own, known by its name. */
export class CapNamed extends Capability {
  readonly #name: string;

  constructor(key: symbol, name: string, delegable: boolean, from?: CapNamed) {
    super(key, from, delegable);
    this.#name = name;
  }

  get capability(): string {
    return this.#name;
  }

  attenuate({ delegable = false }: Delegation = {}): CapNamed {
    const from = itself(this, CapNamed);
    return new CapNamed(MINT, from.#name, delegable, from);
  }
}

/** What makes capabilities out of nothing; the runtime has one, and whoever has the runtime. */
export class Mint {
  spawn({
    limit = Number.POSITIVE_INFINITY,
    delegable = false,
  }: Delegation & { limit?: number } = {}): CapSpawn {
    return new CapSpawn(MINT, readLimit(limit), delegable);
  }

  budget(limit: Partial<Budget>, { delegable = false }: Delegation = {}): CapBudget {
    return new CapBudget(MINT, readBudget(limit, UNLIMITED, "limit"), delegable);
  }

  channel(
    rights: readonly ChannelRight[] = ["send", "receive"],
    { delegable = false }: Delegation = {},
  ): CapChannel {
    return new CapChannel(MINT, [...rights], delegable);
  }

  syscall(kinds: readonly SyscallKind[] = SYSCALL_KINDS, { delegable = false }: Delegation = {}): CapSyscall {
    return new CapSyscall(MINT, [...kinds], delegable);
  }

  named(name: string, { delegable = false }: Delegation = {}): CapNamed {
    return new CapNamed(MINT, name, delegable);
  }
}

function readLimit(limit: number): number {
  if (limit === Number.POSITIVE_INFINITY || (Number.isInteger(limit) && limit >= 0)) return limit;
  throw new RuntimeError("InvalidArgument", `limit is ${String(limit)}; it is a whole number from 0 on`);
}

/** Whether a runtime has made it, and as one of these: `instanceof` only asks for the prototype, which anyone can set. */
export function isGranted<C extends Capability>(
  value: unknown,
  kind: abstract new (...args: never) => C,
): value is C {
  return kindOf(value) === kind;
}

/** Methods can be called on anything, and what was attenuated from nothing would be a capability out of nothing. */
function itself<C extends Capability>(value: C, kind: abstract new (...args: never) => C): C {
  if (isGranted(value, kind)) return value;
  throw new RuntimeError("CapabilityDenied", `what is to be attenuated is no ${kind.name} of a runtime`);
}

export function isLive(capability: Capability): boolean {
  return isLiveOf(capability);
}

/** Whether one is the other or was attenuated from it. */
export function isFrom(capability: Capability, source: Capability): boolean {
  return comesFrom(capability, source);
}

export function useSpawn(capability: CapSpawn): boolean {
  return spawnOnce(capability);
}

/** All of it or nothing. */
export function useBudget(capability: CapBudget, amounts: Partial<Budget>): boolean {
  return drawFrom(capability, amounts);
}

export function allowsChannel(capability: CapChannel, right: ChannelRight): boolean {
  return channelAllows(capability, right);
}

export function allowsSyscall(capability: CapSyscall, kind: SyscallKind): boolean {
  return syscallAllows(capability, kind);
}

/** A capability as plain data, for another thread. */
export interface CapabilityCopy {
  readonly kind: "spawn" | "channel" | "syscall" | "named";
  readonly delegable: boolean;
  /** Its rights, kinds, or name. */
  readonly allows: readonly string[];
  /** What it depends on where it came from. */
  readonly grants: readonly number[];
}

/** Undefined where a copy would be worth more than what it was copied from: there is a count of how often it may be used. */
export function copyCapability(capability: Capability): CapabilityCopy | undefined {
  const { delegable } = capability;
  const grants = grantsOf(capability);
  if (capability instanceof CapSpawn)
    return isUnlimited(capability) ? { kind: "spawn", delegable, allows: [], grants } : undefined;
  if (capability instanceof CapChannel)
    return { kind: "channel", delegable, allows: rightsOf(capability), grants };
  if (capability instanceof CapSyscall)
    return { kind: "syscall", delegable, allows: kindsOf(capability), grants };
  if (capability instanceof CapNamed)
    return { kind: "named", delegable, allows: [capability.capability], grants };
  return undefined;
}

/** Makes of a copy what can be used here, for as long as it is not revoked there. */
export function reviveCapability({ kind, delegable, allows }: CapabilityCopy, grant: Grant): Capability {
  const revived = {
    spawn: () => new CapSpawn(MINT, Number.POSITIVE_INFINITY, delegable),
    channel: () => new CapChannel(MINT, allows as readonly ChannelRight[], delegable),
    syscall: () => new CapSyscall(MINT, allows as readonly SyscallKind[], delegable),
    named: () => new CapNamed(MINT, allows[0] as string, delegable),
  }[kind]();
  bindTo(revived, grant);
  return revived;
}

/** Calls back when it, or what it was attenuated from, is revoked. */
export function whenRevoked(capability: Capability, told: () => void): void {
  onRevoked(capability, told);
}
