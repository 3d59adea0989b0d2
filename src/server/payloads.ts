import type { Fact } from "../driver/index.ts";
import type { ServiceStore } from "../store/index.ts";

/** What is kept in memory of payloads that no worker has got yet; the rest is read when it is needed. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024;
/** What an entry takes besides its payload: most payloads are shorter than that. */
const ENTRY_CHARS = 100;

/**
 * Payloads on their way from submissions to workers. Those that came lately are still at hand; the others are read
 * while the block that assigns their tasks is being committed, so that nobody waits for both.
 */
export class Payloads {
  readonly #store: Pick<ServiceStore, "payloads">;
  /** In two generations, of which the older goes as a whole when there is too much. */
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #youngChars = 0;
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
    this.#young.set(id, payload);
    this.#youngChars += ENTRY_CHARS + payload.length;
    if (2 * this.#youngChars <= MAX_KEPT_CHARS) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngChars = 0;
  }

  /** Asks for what the workers will get when this is committed. */
  prepare(facts: readonly Fact[]): void {
    const ids: string[] = [];
    for (const { event, about } of facts) {
      if (event.kind !== "TaskAssigned" || !about?.task) continue;
      const id = about.task.alternative?.of ?? about.task.id;
      if (this.#kept(id) === undefined) ids.push(id);
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
      const payload = this.#kept(id) ?? read.find((some) => some.has(id))?.get(id);
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
    const found = new Map<string, string>();
    for (const id of ids) {
      const payload = this.#kept(id);
      if (payload === undefined) return undefined;
      found.set(id, payload);
    }
    for (const id of ids) this.#forget(id);
    return found;
  }

  /** It is nobody's business any more. */
  drop(id: string): void {
    this.#forget(id);
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

  #kept(id: string): string | undefined {
    return this.#young.get(id) ?? this.#old.get(id);
  }

  #forget(id: string): void {
    if (!this.#young.delete(id)) this.#old.delete(id);
  }
}
