import { Numbered, PassingMap } from "../core/index.ts";
import type { Fact } from "../driver/index.ts";
import { type TaskKey, taskKey } from "../placement/index.ts";
import type { ServiceStore } from "../store/index.ts";
import { RecentTexts } from "./recent-texts.ts";

/**
 * Payloads on their way from submissions to workers. Those that came lately are still at hand; the others are read
 * while the block that assigns their tasks is being committed, so that nobody waits for both.
 */
export class Payloads {
  readonly #store: Pick<ServiceStore, "payloads">;
  /** Of tasks that wait. */
  readonly #recent = new RecentTexts<TaskKey>(() => new Numbered());
  /** Of tasks that were assigned, until they are sent. */
  readonly #ready = new PassingMap<string, string>();
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

  keep(key: TaskKey, payload: string): void {
    this.#recent.keep(key, payload);
  }

  /** Forgets the payloads of tasks that wait: the numbers that they are kept under may belong to other tasks now. */
  reset(): void {
    this.#recent.reset();
  }

  /** Asks for what the workers will get when this is committed. */
  prepare(facts: readonly Fact[]): void {
    const ids: string[] = [];
    for (const { event, about } of facts) {
      if (event.kind !== "TaskAssigned" || !about?.task) continue;
      const { id, alternative } = about.task;
      const of = alternative?.of ?? id;
      if (this.#ready.has(of)) continue;
      const payload = this.#recent.take(alternative?.key ?? taskKey(event.run, event.node));
      if (payload === undefined) ids.push(of);
      else this.#ready.set(of, payload);
    }
    if (ids.length === 0) return;
    const reading = this.#read(ids);
    // Whoever needs it will find out, and ask again.
    reading.catch(() => {});
    for (const id of ids) this.#asked.set(id, reading);
  }

  /** Of tasks that are stored, in their order. */
  async of(ids: readonly string[]): Promise<(string | undefined)[]> {
    const read = await this.#prepared(ids);
    const found = ids.map((id) => this.#ready.get(id) ?? read.find((some) => some.has(id))?.get(id));
    for (const id of ids) this.drop(id);
    const missing = ids.filter((_, at) => found[at] === undefined);
    if (missing.length === 0) return found;
    const late = await this.#read(missing);
    return found.map((payload, at) => payload ?? late.get(ids[at] as string));
  }

  /** What is known without waiting; undefined unless it is all of them. */
  atHand(ids: readonly string[]): string[] | undefined {
    const found: string[] = [];
    for (const id of ids) {
      const payload = this.#ready.get(id);
      if (payload === undefined) return undefined;
      found.push(payload);
    }
    for (const id of ids) this.#ready.delete(id);
    return found;
  }

  /** It is nobody's business any more. */
  drop(id: string): void {
    this.#ready.delete(id);
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
