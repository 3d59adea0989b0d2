import type { Observer } from "../observer.ts";

type Hook = keyof Observer;

/** What an observer is told, to be told it later. */
export type Told = readonly [Hook, readonly unknown[]];

/** So many are sent at once; fewer when a thread has nothing to do. */
const MOST = 512;

/** What a thread tells the observer on the main one: gathered, because a letter costs more than most of what it tells. */
export class Telling {
  readonly observer: Observer;
  readonly #send: (told: readonly Told[]) => void;
  #told: Told[] = [];

  constructor(hooks: readonly Hook[], send: (told: readonly Told[]) => void) {
    this.#send = send;
    this.observer = Object.fromEntries(
      hooks.map((hook) => [hook, (...args: unknown[]) => this.#keep(hook, args)]),
    );
  }

  #keep(hook: Hook, args: readonly unknown[]): void {
    this.#told.push([hook, args]);
    if (this.#told.length >= MOST) this.flush();
  }

  flush(): void {
    if (this.#told.length === 0) return;
    const told = this.#told;
    this.#told = [];
    this.#send(told);
  }
}

export function hooksOf(observer: Observer): readonly Hook[] {
  const hooks: readonly Hook[] = ["checked", "moved", "nurseryMoved", "ran", "stole"];
  return hooks.filter((hook) => observer[hook] !== undefined);
}

export function tell(observer: Observer, told: readonly Told[]): void {
  for (const [hook, args] of told)
    (observer[hook] as ((...args: readonly unknown[]) => void) | undefined)?.(...args);
}
