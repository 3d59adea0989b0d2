import type { Agenda } from "./agenda.ts";
import type { Random } from "./random.ts";
import type { Weather } from "./scenario.ts";
import type { Tally } from "./tally.ts";

/** Carries messages late, twice, out of order, or not at all. When it is calm, only a little late. */
export class Network {
  calm = false;
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #weather: Weather;
  readonly #tally: Tally;
  /** When the last message of a link arrives. */
  readonly #latest = new Map<string, number>();

  constructor(agenda: Agenda, random: Random, weather: Weather, tally: Tally) {
    this.#agenda = agenda;
    this.#random = random;
    this.#weather = weather;
    this.#tally = tally;
  }

  send(link: string, deliver: () => void): void {
    if (!this.calm && this.#random.chance(this.#weather.lost)) {
      this.#tally.count("message lost");
      return;
    }
    this.#carry(link, deliver);
    if (!this.calm && this.#random.chance(this.#weather.duplicated)) {
      this.#tally.count("message duplicated");
      this.#carry(link, deliver);
    }
  }

  #carry(link: string, deliver: () => void): void {
    const slow = !this.calm && this.#random.chance(this.#weather.slow);
    const delayMs = slow ? this.#random.int(100, 9_000) : this.#random.int(0, 20);
    const atMs = this.#agenda.nowMs + delayMs;
    const latest = this.#latest.get(link) ?? 0;
    if (atMs < latest) this.#tally.count("message reordered");
    else this.#latest.set(link, atMs);
    this.#agenda.at(atMs, deliver);
  }
}
