import {
  type Capability,
  type CapabilityCopy,
  type CapNamed,
  copyCapability,
  type Grant,
  isLive,
  reviveCapability,
  whenRevoked,
} from "../capabilities.ts";
import { RuntimeError } from "../errors.ts";
import type { AnyFunction } from "../fiber.ts";
import { type Holdings, NO_HOLDINGS } from "../holdings.ts";
import type { Memory } from "./memory.ts";
import { type Place, placeOf } from "./portable.ts";
import { CAPABILITIES, MOST_OWN_CAPABILITIES, OWN_CAPABILITIES } from "./record.ts";
import { Texts } from "./texts.ts";

/** What has no number, and stays on its thread. */
const STAYS = -1;
const KINDS = ["spawn", "channel", "syscall"] as const;
const HELD = KINDS.length + MOST_OWN_CAPABILITIES;

/** Functions and capabilities by the numbers under which all threads know them, and what they are on this one. */
export class Directory {
  readonly #texts: Texts;
  readonly #words: Int32Array;
  readonly #numbers = new Map<AnyFunction, number>();
  readonly #functions = new Map<number, AnyFunction | Promise<AnyFunction>>();
  readonly #copied = new WeakMap<Capability, number>();
  readonly #revived = new Map<number, Capability>();
  readonly #holdings = new Map<string, Holdings>();
  #lastFunction: AnyFunction | undefined;
  #lastNumber = STAYS;
  #beforeNumbers: Int32Array = new Int32Array(HELD);
  #before: Holdings = NO_HOLDINGS;

  constructor(memory: Memory) {
    this.#texts = new Texts(memory);
    this.#words = memory.words;
  }

  /** The number of a function, -1 where it is not portable. */
  numberOf(fn: AnyFunction): number {
    if (fn === this.#lastFunction) return this.#lastNumber;
    let number = this.#numbers.get(fn);
    if (number === undefined) {
      const place = placeOf(fn);
      number = place === undefined ? STAYS : this.#texts.add(JSON.stringify(place));
      // What is not portable is mostly made anew each time, and would be held forever.
      if (place !== undefined) this.#numbers.set(fn, number);
      if (number >= 0) this.#functions.set(number, fn);
    }
    this.#lastFunction = fn;
    this.#lastNumber = number;
    return number;
  }

  /** The function, or a promise of it where its module was not imported yet. */
  functionOf(number: number): AnyFunction | Promise<AnyFunction> {
    const known = this.#functions.get(number);
    if (known !== undefined) return known;
    const place = JSON.parse(this.#texts.get(number)) as Place;
    const promise = importFrom(place).then((fn) => {
      this.#functions.set(number, fn);
      if (!this.#numbers.has(fn)) this.#numbers.set(fn, number);
      return fn;
    });
    this.#functions.set(number, promise);
    return promise;
  }

  /** Writes what a fiber holds into its record, or says that it cannot be copied. */
  writeHoldings(at: number, { spawn, channel, syscall, budget, own }: Holdings): boolean {
    if (budget !== undefined) return false;
    const words = this.#words;
    const plain = this.#write(at + CAPABILITIES, spawn) && this.#write(at + CAPABILITIES + 1, channel);
    if (!plain || !this.#write(at + CAPABILITIES + 2, syscall)) return false;
    words.fill(0, at + OWN_CAPABILITIES, at + OWN_CAPABILITIES + MOST_OWN_CAPABILITIES);
    if (own === undefined) return true;
    const named = Object.values(own);
    if (named.length > MOST_OWN_CAPABILITIES) return false;
    return named.every((capability, place) => this.#write(at + OWN_CAPABILITIES + place, capability));
  }

  #write(at: number, capability: Capability | undefined): boolean {
    const number = capability === undefined ? STAYS : this.#numberOfCapability(capability);
    this.#words[at] = number + 1;
    return capability === undefined || number >= 0;
  }

  #numberOfCapability(capability: Capability): number {
    const known = this.#copied.get(capability);
    if (known !== undefined) return known;
    const copy = isLive(capability) ? copyCapability(capability) : undefined;
    const number = copy === undefined ? STAYS : this.#texts.add(JSON.stringify(copy));
    this.#copied.set(capability, number);
    if (number >= 0) whenRevoked(capability, () => this.#texts.raise(number));
    return number;
  }

  /** What the fiber of a record holds, as capabilities of this thread. */
  readHoldings(at: number): Holdings {
    if (this.#isAsBefore(at)) return this.#before;
    const from = at + CAPABILITIES;
    const numbers = this.#words.slice(from, from + HELD);
    const key = numbers.join();
    const known = this.#holdings.get(key) ?? this.#reviveAll(numbers);
    this.#holdings.set(key, known);
    this.#beforeNumbers = numbers;
    this.#before = known;
    return known;
  }

  /** Most fibers of a time hold the same. */
  #isAsBefore(at: number): boolean {
    for (let place = 0; place < HELD; place++)
      if (this.#words[at + CAPABILITIES + place] !== this.#beforeNumbers[place]) return false;
    return true;
  }

  #reviveAll(numbers: Int32Array): Holdings {
    const held: Record<string, unknown> = {};
    const own: Record<string, CapNamed> = {};
    for (const [place, number] of numbers.entries()) {
      if (number === 0) continue;
      const capability = this.#revive(number - 1);
      const kind = KINDS[place];
      if (kind !== undefined) held[kind] = capability;
      else own[(capability as CapNamed).capability] = capability as CapNamed;
    }
    if (Object.keys(own).length > 0) held["own"] = Object.freeze(own);
    return Object.freeze(held);
  }

  #revive(number: number): Capability {
    const known = this.#revived.get(number);
    if (known !== undefined) return known;
    const copy = JSON.parse(this.#texts.get(number)) as CapabilityCopy;
    const numbers = [number, ...copy.grants];
    const grant: Grant = { numbers, isLive: () => !numbers.some((one) => this.#texts.isRaised(one)) };
    const revived = reviveCapability(copy, grant);
    this.#revived.set(number, revived);
    this.#copied.set(revived, number);
    return revived;
  }
}

async function importFrom({ module, name }: Place): Promise<AnyFunction> {
  const exported = (await import(module)) as Readonly<Record<string, unknown>>;
  const fn = exported[name];
  if (typeof fn === "function") return fn as AnyFunction;
  throw new RuntimeError(
    "InvalidArgument",
    `${module} exports no function ${name}; portable(import.meta.url, name, fn) takes the name by which fn is exported`,
  );
}
