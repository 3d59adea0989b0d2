import { RecentMap } from "../core/index.ts";

/** Wrong keys that one address may send in a row. */
const BURST = 100;
/** Time after which one more may be sent, in ms. */
const EACH_MS = 500;
const MAX_ADDRESSES = 10_000;

interface Wrong {
  readonly count: number;
  readonly at: number;
}

/** Counts the wrong keys that each address has sent lately, so that guessing a key is slow. */
export class Guesses {
  readonly #wrong = new RecentMap<string, Wrong>(MAX_ADDRESSES);

  mayTry(address: string, now: number): boolean {
    return this.#countAt(networkOf(address), now) < BURST;
  }

  failed(address: string, now: number): void {
    const network = networkOf(address);
    this.#wrong.set(network, { count: this.#countAt(network, now) + 1, at: now });
  }

  #countAt(network: string, now: number): number {
    const wrong = this.#wrong.get(network);
    return wrong ? Math.max(0, wrong.count - Math.max(0, now - wrong.at) / EACH_MS) : 0;
  }
}

/** Whoever has an IPv6 address mostly has a network of 2^64 of them. */
function networkOf(address: string): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [head = ""] = address.split("::");
  return head.split(":").slice(0, 4).join(":");
}
