import type { Driver } from "../../driver/index.ts";
import { stateHash } from "../../scheduler/index.ts";
import type { ServiceStore } from "../../store/index.ts";
import type { Caller, Reading } from "../api.ts";
import { Feeder } from "./feeder.ts";
import { PastError } from "./past-error.ts";
import type { EntryQuery, EntryView, Instant, Moments, PlacementView } from "./questions.ts";
import { readingAt } from "./reading-at.ts";
import { PastThread } from "./thread.ts";
import type { WhatIfQuery, WhatIfView } from "./what-if.ts";

export interface PastOptions {
  readonly driver: Pick<Driver, "read">;
  readonly store: Pick<ServiceStore, "head" | "blocks" | "backend" | "task" | "logs">;
  readonly streamKey: Uint8Array;
  /** What the replay may take; 2 GiB by default. */
  readonly heapMb?: number;
}

/** Whether the state that the ledger makes is the one that the scheduler has. */
export interface ReplayStanding {
  /** After which event they were compared. */
  readonly seq: number;
  readonly isEqual: boolean;
}

type Asked = Omit<WhatIfQuery, "at"> & { readonly at: number | undefined };

interface Opened {
  readonly thread: PastThread;
  readonly feeder: Feeder;
}

/** Who asks is told to come again if the replay takes longer. */
const PATIENCE_MS = 1_000;
const IDLE_MS = 5 * 60_000;
/** Of a larger state no hash is taken: nothing else happens meanwhile. */
const HASHED_TASKS = 20_000;

/**
 * All that was, from the ledger alone. It is replayed in a thread of its own from when somebody first asks until nobody has for a
 * while, and fed with what is committed since.
 */
export class Past implements AsyncDisposable {
  readonly #options: PastOptions;
  #opened: Opened | undefined;
  #idle: NodeJS.Timeout | undefined;
  #replayed: ReplayStanding | undefined;

  constructor(options: PastOptions) {
    this.#options = options;
  }

  /** What could be seen after an event. */
  at(seq: number): Reading {
    return readingAt(seq, () => this.#reach(seq), this.#options.store);
  }

  /** By default up to the last event. */
  async moments(from: number, to: number | undefined, buckets: number): Promise<Moments> {
    const { seq } = this.#options.store.head;
    const thread = await this.#reach(seq);
    return await thread.ask("moments", from, to ?? seq, buckets);
  }

  async lastAt(time: number): Promise<Instant> {
    const thread = await this.#reach(this.#options.store.head.seq);
    const seq = await thread.ask("lastAt", time);
    return { seq, now: await thread.ask("time", seq) };
  }

  async entries(
    query: EntryQuery,
  ): Promise<{ readonly entries: readonly EntryView[]; readonly lastSeq: number }> {
    const { seq: lastSeq } = this.#options.store.head;
    const thread = await this.#reach(lastSeq);
    return { entries: await thread.ask("entries", query), lastSeq };
  }

  /** By default of the last attempt before an event, or of all. */
  async placement(
    caller: Caller,
    id: string,
    at: number | undefined,
    attempt: number | undefined,
  ): Promise<PlacementView | undefined> {
    const seq = at ?? this.#options.store.head.seq;
    const thread = await this.#reach(seq);
    return await thread.ask("placement", seq, caller, id, attempt);
  }

  /** By default from the last event on. */
  async whatIf({
    at = this.#options.store.head.seq,
    ...query
  }: Asked): Promise<{ readonly seq: number; readonly view: WhatIfView }> {
    const thread = await this.#reach(at);
    return { seq: at, view: await thread.ask("whatIf", { at, ...query }) };
  }

  /** What the last comparison found; undefined: there was none. */
  get replayed(): ReplayStanding | undefined {
    return this.#replayed;
  }

  /** Compares the two; undefined where the state is too large for that. */
  async compare(): Promise<ReplayStanding | undefined> {
    const live = await this.#options.driver.read((state) => {
      let size = state.singles.all.size;
      for (const run of state.runs.values()) size += run.graph.size;
      return size <= HASHED_TASKS ? { seq: state.seq, hash: stateHash(state) } : undefined;
    });
    if (!live) return undefined;
    const thread = await this.#reach(live.seq);
    this.#replayed = { seq: live.seq, isEqual: (await thread.ask("hash", live.seq)) === live.hash };
    return this.#replayed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle);
    const { thread } = this.#opened ?? {};
    if (thread?.end?.code !== "too-long") this.#opened = undefined;
    await thread?.close();
  }

  /** The thread, once it has come to an event. */
  async #reach(seq: number): Promise<PastThread> {
    const { head } = this.#options.store;
    if (seq > head.seq) throw new PastError("not-yet", `the ledger ends at event ${head.seq}`);
    const { thread, feeder } = this.#open();
    if (await feeder.reaches(seq, PATIENCE_MS)) return thread;
    const words = `the ledger is being replayed: event ${feeder.seq} of ${head.seq}`;
    throw new PastError("building", words, feeder.seq / head.seq);
  }

  #open(): Opened {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this[Symbol.asyncDispose](), IDLE_MS).unref();
    const { end } = this.#opened?.thread ?? {};
    if (this.#opened && !end) return this.#opened;
    // A ledger that was too long stays so.
    if (end?.code === "too-long") throw end;
    const { store, streamKey, heapMb } = this.#options;
    const thread = new PastThread({ backend: store.backend, streamKey }, heapMb);
    this.#opened = { thread, feeder: new Feeder(store, (blocks) => thread.feed(blocks)) };
    return this.#opened;
  }
}
