import { setImmediate } from "node:timers/promises";
import { taskIdOf } from "../core/index.ts";
import type { Driver } from "../driver/index.ts";
import { History } from "../history/index.ts";
import { decodeEvent, type Head, type LedgerEvent } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import { eventsOf, type Recorded } from "../scheduler/index.ts";
import type { RunRow, ServiceStore } from "../store/index.ts";

/** How long others wait at most. */
const SLICE_MS = 10;
/** Rows that are looked at for one that says which number the run had. */
const LOOKED_AT = 100;

/** An event of a run, numbered as if there were no other run. */
export type RunEvent = Pick<Recorded, "event" | "seq" | "now">;

/** What the ledger says of one run, however long ago. */
export class RunEvents {
  readonly #driver: Pick<Driver, "read">;
  readonly #store: Pick<ServiceStore, "blockAt" | "blocks" | "tasks">;

  constructor(driver: Pick<Driver, "read">, store: Pick<ServiceStore, "blockAt" | "blocks" | "tasks">) {
    this.#driver = driver;
    this.#store = store;
  }

  /** The events about its nodes and their alternatives, and of workers that had some of them; until the signal. */
  async *of(run: RunRow, signal: AbortSignal): AsyncGenerator<RunEvent> {
    const number = await this.#numberOf(run);
    const before = await this.#headBefore(run.submittedSeq);
    if (!before) return;
    const filter = new RunFilter(run, number);
    let sliceMs = performance.now();
    for await (const block of this.#store.blocks(before)) {
      for (const recorded of eventsOf(block)) {
        const event = filter.take(recorded);
        if (event) yield event;
        if (filter.isOver) return;
      }
      if (performance.now() - sliceMs <= SLICE_MS) continue;
      await setImmediate();
      if (signal.aborted) return;
      sliceMs = performance.now();
    }
  }

  async history(run: RunRow, signal: AbortSignal): Promise<History> {
    const workers = await this.#driver.read((state) => state.fleet.workers.map(({ id }) => id));
    const history = new History(workers);
    for await (const event of this.of(run, signal)) history.take(event);
    history.close();
    return history;
  }

  /** Events name runs by number. The state knows it, and else an event that a row of one of its nodes follows from. */
  async #numberOf({ id, zone, submittedSeq }: RunRow): Promise<number | undefined> {
    const known = await this.#driver.read((state) => state.runById(id)?.number);
    if (known !== undefined) return known;
    const lines = await this.#store.tasks({ zone, runId: id }, undefined, LOOKED_AT);
    for (const line of lines) {
      if (line.seq <= submittedSeq || line.id !== taskIdOf(id, line.run?.node ?? "")) continue;
      const event = await this.#eventAt(line.seq);
      if (event && "run" in event) return event.run;
    }
    return undefined;
  }

  async #eventAt(seq: number): Promise<LedgerEvent | undefined> {
    const block = await this.#store.blockAt(seq);
    const { events } = JSON.parse(block?.line ?? '{"events":[]}') as { events: unknown[] };
    return block && decodeEvent(events[seq - block.seq]);
  }

  async #headBefore(seq: number): Promise<Head | undefined> {
    const block = await this.#store.blockAt(seq);
    return block && { epoch: block.epoch, seq: block.seq - 1, hash: block.prev };
  }
}

/** Which events are about a run. Of workers only those are told of that had something of it: others may be of other zones. */
class RunFilter {
  readonly #run: RunRow;
  readonly #number: number | undefined;
  /** Numbers of tasks of no run. */
  readonly #alternatives = new Set<number>();
  readonly #workers = new Set<number>();
  isOver = false;

  constructor(run: RunRow, number: number | undefined) {
    this.#run = run;
    this.#number = number;
  }

  take({ event, seq, now }: Recorded): RunEvent | undefined {
    if (event.kind === "RunSubmitted") {
      const { parent: _, ...own } = event;
      return event.runId === this.#run.id ? { event: own, seq, now } : undefined;
    }
    if (event.kind === "WorkerLost") return this.#workers.has(event.worker) ? { event, seq, now } : undefined;
    if (!("run" in event) || seq < this.#run.submittedSeq) return undefined;
    const isOwn = event.run === this.#number;
    if (!isOwn && !(event.run === NO_RUN && "node" in event && this.#alternatives.has(event.node)))
      return undefined;
    if (event.kind === "TaskSpeculated")
      for (let at = 0; at < event.count; at++) this.#alternatives.add(event.first + at);
    if (event.kind === "TaskAssigned") this.#workers.add(event.worker);
    if (event.kind === "RunEnded") this.isOver = true;
    return { event: isOwn ? { ...event, run: 0 } : event, seq, now };
  }
}
