import type { Fact } from "../driver/index.ts";
import type { ServiceStore } from "../store/index.ts";
import { RecentTexts } from "./recent-texts.ts";

/**
 * Payloads on their way from submissions to workers. Those that came lately are still at hand; the others are read
 * while the block that assigns their tasks is being committed, so that nobody waits for both.
 */
export class Payloads {
  readonly #store: Pick<ServiceStore, "payloads">;
  /** What no worker has got yet. */
  readonly #recent = new RecentTexts();
  /** Told the settings of tasks that belong to a trace. */
  readonly #onTraced: (id: string, settings: string) => void;
  readonly #asked = new Map<string, Promise<ReadonlyMap<string, string>>>();

  constructor(
    store: Pick<ServiceStore, "payloads">,
    onTraced: (id: string, settings: string) => void = () => {},
  ) {
    this.#store = store;
    this.#onTraced = onTraced;
  }

  keep(id: string, payload: string): void {
    this.#recent.keep(id, payload);
  }

  /** Asks for what the workers will get when this is committed. */
  prepare(facts: readonly Fact[]): void {
    const ids: string[] = [];
    for (const { event, about } of facts) {
      if (event.kind !== "TaskAssigned" || !about?.task) continue;
      const id = about.task.alternative?.of ?? about.task.id;
      if (this.#recent.get(id) === undefined) ids.push(id);
    }
    if (ids.length === 0) return;
    const reading = this.#read(ids);
    // Whoever needs it will find out, and ask again.
    reading.catch(() => {});
    for (const id of ids) this.#asked.set(id, reading);
  }

  /** Of tasks that are stored. */
  async of(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const read = await this.#prepared(ids);
    const missing: string[] = [];
    for (const id of ids) {
      const payload = this.#recent.get(id) ?? read.find((some) => some.has(id))?.get(id);
      if (payload === undefined) missing.push(id);
      else found.set(id, payload);
      this.drop(id);
    }
    if (missing.length === 0) return found;
    for (const [id, payload] of await this.#read(missing)) found.set(id, payload);
    return found;
  }

  /** What is known without waiting; undefined unless it is all of them. */
  atHand(ids: readonly string[]): ReadonlyMap<string, string> | undefined {
    const found = this.#recent.all(ids);
    if (found) for (const id of ids) this.#recent.forget(id);
    return found;
  }

  /** It is nobody's business any more. */
  drop(id: string): void {
    this.#recent.forget(id);
    this.#asked.delete(id);
  }

  async #read(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const payloads = new Map<string, string>();
    for (const [id, { payload, tracedSettings }] of await this.#store.payloads(ids)) {
      if (tracedSettings !== undefined) this.#onTraced(id, tracedSettings);
      payloads.set(id, payload);
    }
    return payloads;
  }

  async #prepared(ids: readonly string[]): Promise<ReadonlyMap<string, string>[]> {
    const readings = new Set<Promise<ReadonlyMap<string, string>>>();
    for (const id of ids) {
      const reading = this.#asked.get(id);
      if (reading) readings.add(reading);
    }
    return Promise.all([...readings].map((reading) => reading.catch(() => new Map<string, string>())));
  }
}
