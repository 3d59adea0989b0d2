import {
  type Capability,
  CapBudget,
  CapChannel,
  CapNamed,
  CapSpawn,
  CapSyscall,
  isFrom,
  isGranted,
  isLive,
  Mint,
} from "./capabilities.ts";
import { RuntimeError } from "./errors.ts";

/** The capabilities that a fiber is given. */
export interface Capabilities {
  readonly spawn?: CapSpawn;
  readonly budget?: CapBudget;
  readonly channel?: CapChannel;
  readonly syscall?: CapSyscall;
  /** The task's own, by their names. */
  readonly own?: Readonly<Record<string, CapNamed>>;
}

/** What a fiber holds: a copy that nobody can change. */
export type Holdings = Readonly<Capabilities>;

export const NO_HOLDINGS: Holdings = Object.freeze({});

/** What profiles with implicit capabilities give to everyone: all but recharging oneself. */
export function implicitHoldings(): Holdings {
  const mint = new Mint();
  const delegable = { delegable: true };
  return Object.freeze({
    spawn: mint.spawn(delegable),
    channel: mint.channel(undefined, delegable),
    syscall: mint.syscall(undefined, delegable),
  });
}

const KINDS = { spawn: CapSpawn, budget: CapBudget, channel: CapChannel, syscall: CapSyscall } as const;

/** Copies what a caller gave and checks the copy: what was given may answer differently each time. */
export function readHoldings(given: Capabilities, where: string): Holdings {
  if (typeof given !== "object" || given === null)
    throw new RuntimeError("InvalidArgument", `${where} is an object such as {spawn: rt.grant.spawn()}`);
  const { own: givenOwn, ...others } = given;
  const own = Object.freeze({ ...givenOwn });
  for (const [key, value] of Object.entries(others)) {
    if (value === undefined) continue;
    const kind = KINDS[key as keyof typeof KINDS];
    if (kind === undefined)
      throw new RuntimeError(
        "InvalidArgument",
        `${where}.${key} is no capability; there are ${Object.keys(KINDS).join(", ")}, own`,
      );
    if (!isGranted<Capability>(value, kind))
      throw new RuntimeError(
        "CapabilityDenied",
        `${where}.${key} is no ${kind.name}: only a runtime grants them`,
      );
  }
  for (const [name, value] of Object.entries(own))
    if (!isGranted(value, CapNamed) || value.capability !== name)
      throw new RuntimeError("CapabilityDenied", `${where}.own.${name} is no capability of that name`);
  return Object.freeze(givenOwn ? { ...others, own } : others);
}

/** Refuses what is handed on without being held, or without being delegable. */
export function checkDelegation(given: Holdings, held: Holdings, also: Holdings): void {
  for (const key of Object.keys(KINDS) as (keyof typeof KINDS)[])
    checkOne(given[key], held[key], also[key], key);
  for (const [name, capability] of Object.entries(given.own ?? {}))
    checkOne(capability, held.own?.[name], also.own?.[name], name);
}

function checkOne(
  given: Capability | undefined,
  held: Capability | undefined,
  also: Capability | undefined,
  name: string,
): void {
  if (given === undefined) return;
  const source = [held, also].find((one) => one !== undefined && isFrom(given, one));
  if (source === undefined)
    throw new RuntimeError(
      "CapabilityDenied",
      `the capability ${name} cannot be handed on by who does not hold it`,
    );
  if (!source.delegable)
    throw new RuntimeError(
      "CapabilityDenied",
      `the capability ${name} may not be handed on: it was granted without delegable`,
    );
  if (!isLive(source)) throw new RuntimeError("CapabilityDenied", `the capability ${name} was revoked`);
}

/** What children get where nothing is said: all of it that may be handed on. */
export function delegableOf(held: Holdings): Holdings {
  if (held.own === undefined && areDelegable(held)) return held;
  const kept = Object.entries(held).filter(([key, one]) => key !== "own" && (one as Capability).delegable);
  const own = Object.entries(held.own ?? {}).filter(([, one]) => one.delegable);
  return Object.freeze({
    ...Object.fromEntries(kept),
    ...(own.length > 0 ? { own: Object.freeze(Object.fromEntries(own)) } : {}),
  });
}

function areDelegable({ spawn, budget, channel, syscall }: Holdings): boolean {
  return (
    spawn?.delegable !== false &&
    budget?.delegable !== false &&
    channel?.delegable !== false &&
    syscall?.delegable !== false
  );
}
