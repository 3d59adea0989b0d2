import { useSyncExternalStore } from "react";

/** A choice of whoever looks that this browser keeps, and all components see alike. */
export class Kept<Value extends string> {
  readonly #name: string;
  readonly #listeners = new Set<() => void>();
  #value: Value;

  constructor(name: string, values: readonly Value[], standard: Value) {
    this.#name = `orrery.${name}`;
    const kept = localStorage.getItem(this.#name);
    this.#value = values.find((value) => value === kept) ?? standard;
  }

  get(): Value {
    return this.#value;
  }

  set(value: Value): void {
    this.#value = value;
    localStorage.setItem(this.#name, value);
    for (const listener of this.#listeners) listener();
  }

  /** Calls back after each change, until what it returns is called. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export function useKept<Value extends string>(kept: Kept<Value>): Value {
  return useSyncExternalStore(kept.subscribe, () => kept.get());
}
