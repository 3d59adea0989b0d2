import { setImmediate } from "node:timers/promises";
import { alternativeIdOf, taskIdOf } from "../core/index.ts";
import type { Driver } from "../driver/index.ts";
import { speculationTag } from "../graph/index.ts";
import { History } from "../history/index.ts";
import { decodeEvent, type Head, type LedgerEvent } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import { eventsOf, type Recorded } from "../scheduler/index.ts";
import type { RunRow, ServiceStore } from "../store/index.ts";
import type { StreamEvent } from "./api.ts";
import type { EventStream } from "./event-stream.ts";
import type { Names, Told } from "./stream-event.ts";

/** How long others wait at most. */
const SLICE_MS = 10;
/** Rows that are looked at for one that says which number the run had. */
const LOOKED_AT = 100;

/** An event of a run, as the ledger has it. */
type RunEvent = Pick<Recorded, "event" | "seq" | "now">;

/** What the ledger says of one run, however long ago. */
export class RunEvents {
  readonly #driver: Pick<Driver, "read">;
  readonly #store: Pick<ServiceStore, "blockAt" | "blocks" | "tasks">;
  readonly #stream: Pick<EventStream, "tell">;

  constructor(
    driver: Pick<Driver, "read">,
    store: Pick<ServiceStore, "blockAt" | "blocks" | "tasks">,
    stream: Pick<EventStream, "tell">,
  ) {
    this.#driver = driver;
    this.#store = store;
    this.#stream = stream;
  }

  /** The events about its nodes and their alternatives, and of workers that had some of them; until the signal. */
  async *#of(run: RunRow, number: number | undefined, signal: AbortSignal): AsyncGenerator<RunEvent> {
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

  /** Its attempts. */
  async history(run: RunRow, signal: AbortSignal): Promise<History> {
    const history = new History(await this.#workers());
    const number = await this.#numberOf(run);
    // As if there had been no other run.
    for await (const { event, seq, now } of this.#of(run, number, signal))
      history.take({
        event: "run" in event && event.run === number ? { ...event, run: 0 } : event,
        seq,
        now,
      });
    history.close();
    return history;
  }

  /** What whoever may see the run was told of it while it went on. */
  async *told(run: RunRow, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    const workers = await this.#workers();
    const number = await this.#numberOf(run);
    const teller = new Teller(run, number, workers);
    for await (const recorded of this.#of(run, number, signal)) {
      if (recorded.event.kind === "ClockCorrected") teller.correctClock(recorded.event.offsetMs);
      if (recorded.event.kind === "WorkerLost" || recorded.event.kind === "ClockCorrected") continue;
      yield this.#stream.tell(teller.aboutOf(recorded), teller);
    }
  }

  #workers(): Promise<string[]> {
    return this.#driver.read((state) => state.fleet.workers.map(({ id }) => id));
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
      // What it was added by is in another run.
      const { parent: _, ...own } = event;
      return event.runId === this.#run.id ? { event: own, seq, now } : undefined;
    }
    if (event.kind === "ClockCorrected") return { event, seq, now };
    if (event.kind === "WorkerLost") return this.#workers.has(event.worker) ? { event, seq, now } : undefined;
    if (!("run" in event) || seq < this.#run.submittedSeq) return undefined;
    const isOwn = event.run === this.#number;
    if (!isOwn && !(event.run === NO_RUN && "node" in event && this.#alternatives.has(event.node)))
      return undefined;
    if (event.kind === "TaskSpeculated")
      for (let at = 0; at < event.count; at++) this.#alternatives.add(event.first + at);
    if (event.kind === "TaskAssigned") this.#workers.add(event.worker);
    if (event.kind === "RunEnded") this.isOver = true;
    return { event, seq, now };
  }
}

/** Names what events of one run are about, from these events alone. */
class Teller implements Names {
  readonly #run: RunRow;
  readonly #workers: readonly string[];
  readonly runs: Names["runs"];
  #ids: readonly string[] = [];
  #clockOffsetMs = 0;
  readonly #alternatives = new Map<number, { readonly node: number; readonly tag: string }>();

  constructor(run: RunRow, number: number | undefined, workers: readonly string[]) {
    this.#run = run;
    this.#workers = workers;
    const graph = { idOf: (node: number) => this.#ids[node] ?? "" };
    this.runs = { get: (other) => (other === number ? { graph } : undefined) };
  }

  worker(number: number): { readonly id: string } {
    return { id: this.#workers[number] ?? "" };
  }

  timeOfDay(at: number): number {
    return at < 0 ? at : at + this.#clockOffsetMs;
  }

  correctClock(offsetMs: number): void {
    this.#clockOffsetMs = offsetMs;
  }

  aboutOf({ event, seq, now: at }: RunEvent): Told {
    if (event.kind === "RunSubmitted") {
      this.#ids = event.graph.ids;
      // The row has the time of day of the same event, and no event before it says how the clock was.
      this.#clockOffsetMs = this.#run.submittedAt - at;
    }
    const now = this.timeOfDay(at);
    if (event.kind === "TaskSpeculated")
      for (let at = 0; at < event.count; at++)
        this.#alternatives.set(event.first + at, { node: event.node, tag: speculationTag(at) });
    return { event, seq, now, about: { runId: this.#run.id, task: this.#taskOf(event) } };
  }

  #taskOf(event: LedgerEvent): NonNullable<Told["about"]>["task"] {
    if (!("node" in event) || !("run" in event)) return undefined;
    const alternative = event.run === NO_RUN ? this.#alternatives.get(event.node) : undefined;
    const node = this.#ids[alternative?.node ?? event.node];
    if (node === undefined) return undefined;
    const id = taskIdOf(this.#run.id, node);
    return alternative ? { id: alternativeIdOf(id, alternative.tag), node, alternative } : { id, node };
  }
}
