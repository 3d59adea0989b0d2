import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Specimens } from "../core/index.ts";
import {
  type Block,
  BlockWriter,
  type Head,
  headOf,
  type LedgerEvent,
  type SchedulerConfig,
} from "../ledger/index.ts";
import { nextWakeAt, type Reply, type State, type Stimulus, step } from "../scheduler/index.ts";
import { type RowChanges, type Store, StoreError } from "../store/index.ts";
import { Arrivals } from "./arrivals.ts";
import { Attached } from "./attached.ts";
import { Follower } from "./follower.ts";
import { MAX_IN_FLIGHT } from "./in-flight.ts";
import { type Answer, answeredTogether, type Repeat, Request, type Waiting } from "./request.ts";
import { Snapshots, type Taken } from "./snapshots.ts";

export interface DriverOptions {
  readonly store: Store;
  readonly config: SchedulerConfig;
  /** The epoch that this process leads. By default a new one: for a store that nobody leads. */
  readonly epoch?: number;
  /** What the store's ledger makes, where it is known already. It is the driver's from now on. */
  readonly follower?: Follower;
  /** The time of day in milliseconds. It should go evenly: where it jumps back, what is due waits. */
  readonly clock: () => number;
  /** Called at about a time of the clock; the answer takes it back. By default the process's timers. */
  readonly wake?: (delayMs: number, turn: () => void) => () => void;
  /** Lets others have their turn during what takes long and nobody waits for. By default until there is a rest, or for a while. */
  readonly pause?: () => Promise<unknown>;
  /** A turn is made at least so often, whatever happens; by default only when time could decide something. */
  readonly lookEveryMs?: number;
  /** What a turn recorded that is about to be committed: what it will need may be got ready meanwhile. */
  readonly onDecided?: () => void;
  /** What a committed turn recorded: from here on it may have effects. The state may be some turns ahead of it. */
  readonly onCommitted: (events: readonly LedgerEvent[], now: number) => void;
  /** How long a turn took to decide. */
  readonly onStep?: (ms: number) => void;
  /** How long a commit took, and how many events it held. */
  readonly onCommit?: (ms: number, events: number) => void;
  /** Keeps rows beside the ledger. */
  readonly recorder?: Recorder;
  /** Events between two snapshots. */
  readonly snapshotEvery?: number;
  /** So many stimuli are worth a turn of their own while a block is being committed. */
  readonly decideAheadFrom?: number;
  /** Nothing can be committed any more. The state is beyond what is stored and must not be used. */
  readonly onFailed: (error: Error) => void;
}

/**
 * Follows a turn as it is decided, for what is kept beside the ledger. What a stimulus brings along that no
 * decision needs (a payload, a result) is attached to it.
 */
export interface Recorder {
  /** Before every turn: what of it repeats an earlier submission, in the same order. Where that cannot be told, it throws. */
  repeats(attached: readonly unknown[]): Promise<readonly (Repeat | undefined)[]>;
  /** About how many bytes will be kept of what is attached. */
  weigh?(attached: unknown): number;
  /** In the state before the event. */
  note(state: State, event: LedgerEvent, now: number, attached: unknown): void;
  /** What the turn changes in the rows. */
  take(): RowChanges;
}

const DECIDE_AHEAD_FROM = 8;
/** So long nothing happens before a snapshot is taken. */
const REST_MS = 50;
/** A snapshot goes on after so many of those, whether or not there was a rest; */
const MOST_RESTS = 5;
/** and so long without a pause. */
const PART_MS = 5;
/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What was decided and is to be committed. */
interface Decided {
  readonly taken: readonly Waiting[];
  readonly replies: readonly Reply[];
  readonly events: readonly LedgerEvent[];
  readonly now: number;
  /** Undefined: nothing was recorded. */
  readonly block: Block | undefined;
  readonly rows: RowChanges | undefined;
  /** The state as it is after the turn, where it is time for one. */
  readonly snapshot: Taken | undefined;
}

/** Answers that wait for a turn that is decided and not yet committed. */
interface Held {
  readonly seq: number;
  readonly release: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Turns the loop: gathers stimuli, takes one turn with all of them, commits what it recorded, and only then answers
 * and lets the effects out.
 *
 * While a block is in flight, stimuli gather; when many have, the next turn is decided already and sent after it, so that
 * a busy store and a busy process need not wait for each other. The state is then ahead of what is committed, and
 * whatever is seen of it is withheld until the store has caught up.
 */
export class Driver implements AsyncDisposable {
  readonly #options: DriverOptions;
  readonly #state: State;
  readonly #epoch: number;
  readonly #arrivals: Arrivals;
  #turning: Promise<void> | undefined;
  #cancelWake: () => void = () => {};
  /** The end of the chain once all that is decided is committed. */
  #tip: Head;
  /** Settles when all that was decided is committed, or the driver has failed. */
  #lastInFlight: Promise<void> = Promise.resolve();
  /** The decided turns that are not committed, in their order. */
  readonly #inFlight: Promise<void>[] = [];
  /** Of what is committed. */
  #committedSeq: number;
  #held: Held[] = [];
  readonly #snapshots: Snapshots;
  /** When the one that is being written had its last pause. */
  #pausedMs: number = Number.NEGATIVE_INFINITY;
  readonly #writer = new BlockWriter();
  /** See `Specimens`. */
  readonly #specimens: Specimens<"request" | LedgerEvent["kind"]> = {};
  /** How far the ledger's time was ahead of the clock: time goes on from there, it does not stand still. */
  readonly #aheadMs: number;
  /** When the last turn was, whether or not it recorded anything: the next is not before it. */
  #turnAt: number;
  #closed = false;
  #failure: Error | undefined;

  private constructor(options: DriverOptions, state: State, snapshotSeq: number) {
    this.#options = options;
    this.#state = state;
    this.#tip = options.store.head;
    const { decideAheadFrom = DECIDE_AHEAD_FROM, recorder } = options;
    this.#arrivals = new Arrivals(decideAheadFrom, (attached) => recorder?.weigh?.(attached) ?? 0);
    this.#epoch = options.epoch ?? options.store.head.epoch + 1;
    this.#committedSeq = state.seq;
    this.#snapshots = new Snapshots(
      options.store,
      snapshotSeq,
      options.pause ?? (() => this.#leisure()),
      options.snapshotEvery,
    );
    this.#turnAt = state.now;
    this.#aheadMs = Math.max(0, state.now - Math.trunc(options.clock()));
  }

  /** Rebuilds the state from what is stored, unless it is known, and goes on from there. */
  static async open(options: DriverOptions): Promise<Driver> {
    const { store, config } = options;
    const follower = options.follower ?? (await Follower.open(store));
    if (!options.follower) await follower.catchUp(Number.POSITIVE_INFINITY);
    const { state } = follower;
    if (state.seq > store.head.seq) throw new StoreError("locked", "another process writes to this ledger");
    if (state.seq < store.head.seq) throw truncated(state.seq, store.head.seq);
    const driver = new Driver(options, state, follower.snapshotSeq);
    if (JSON.stringify(state.config) !== JSON.stringify(config) || state.seq === 0) {
      await driver.submit({ kind: "SchedulerConfigured", config });
    } else {
      // What fell due while nobody was there, or will, wakes it as if it had never stopped.
      driver.#rest();
    }
    return driver;
  }

  /** To be read only. It may be ahead of what is committed: what others are to see of it, see `read`. */
  get state(): State {
    return this.#state;
  }

  /** The ledger's time as it is now; the state only knows that of its last event. */
  now(): number {
    return Math.max(this.#turnAt, this.#state.now, this.#time());
  }

  /** Looks at the state; what was seen is told when all of it is committed. */
  async read<Seen>(look: (state: State) => Seen): Promise<Seen> {
    if (this.#failure) throw this.#failure;
    const seen = look(this.#state);
    if (this.#isAhead) {
      const { seq } = this.#state;
      await new Promise<void>((release, reject) => this.#held.push({ seq, release, reject }));
    }
    return seen;
  }

  /** The answer comes when the turn that took the stimulus is committed. */
  submit(stimulus: Stimulus, attached?: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = new Request(1, ([answer]) => resolve(answer as Answer), reject);
      this.#enqueue([{ stimulus, attached, request, at: 0 }]);
    });
  }

  /** Several, one after the other; where they are many, in several turns. */
  submitAll(
    stimuli: readonly { readonly stimulus: Stimulus; readonly attached?: unknown }[],
  ): Promise<Answer[]> {
    if (stimuli.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const request = new Request(stimuli.length, resolve, reject);
      this.#enqueue(stimuli.map(({ stimulus, attached }, at) => ({ stimulus, attached, request, at })));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#cancelWake();
    await this.#turning;
    await this.#snapshots.saved();
  }

  get #isAhead(): boolean {
    return this.#state.seq > this.#committedSeq;
  }

  #enqueue(arrived: readonly Waiting[]): void {
    if (this.#closed) {
      const error = this.#failure ?? new StoreError("unwritable", "the scheduler has stopped");
      for (const { request } of arrived) request.fail(error);
      return;
    }
    this.#arrivals.add(arrived);
    this.#turn();
  }

  #turn(): void {
    if (this.#turning) return;
    // What it waited for is looked at again when these turns are over: until then this is no rest.
    this.#cancelWake();
    this.#turning = this.#turns().finally(() => {
      this.#turning = undefined;
      // An answer may have led to a stimulus after the last turn looked for one.
      if (!this.#arrivals.isEmpty) this.#turn();
      else this.#rest();
    });
  }

  async #turns(): Promise<void> {
    // Whatever else is submitted in the same moment belongs to the same turn.
    await Promise.resolve();
    do {
      const taken = this.#arrivals.take(this.#inFlight.length === 0);
      try {
        this.#send(this.#decide(await this.#withoutRepeats(taken)));
      } catch (error) {
        this.#fail(error as Error, taken);
      }
      await this.#committedOrEnough();
    } while (!this.#arrivals.isEmpty);
    await this.#lastInFlight;
  }

  #send(decided: Decided): void {
    const committed = this.#commit(decided, this.#lastInFlight).then(() => void this.#inFlight.shift());
    this.#inFlight.push(committed);
    this.#lastInFlight = committed;
  }

  async #committedOrEnough(): Promise<void> {
    if (!this.#arrivals.hasEnough) await Promise.race([this.#lastInFlight, this.#arrivals.enough()]);
    if (this.#inFlight.length >= MAX_IN_FLIGHT) await this.#inFlight[0];
  }

  /** Answers what repeats a submission of an earlier turn, and ties what repeats one of this turn to it. */
  async #withoutRepeats(taken: readonly Waiting[]): Promise<readonly Waiting[]> {
    const { recorder } = this.#options;
    if (!recorder) return taken;
    let repeats: readonly (Repeat | undefined)[];
    try {
      repeats = await recorder.repeats(taken.map(({ attached }) => attached));
    } catch (error) {
      for (const { attached, request } of taken) if (attached !== undefined) request.fail(error as Error);
      return taken.filter(({ attached }) => attached === undefined);
    }
    if (repeats.length === 0) return taken;
    const kept: Waiting[] = [];
    const places = new Map<number, number>();
    const followers = new Map<number, [waiting: Waiting, repeats: Repeat][]>();
    for (const [at, waiting] of taken.entries()) {
      const repeat = repeats[at];
      if (!repeat) places.set(at, kept.push(waiting) - 1);
      else if (repeat.of === undefined) this.#answerRepeat(waiting, repeat);
      else if (followers.get(repeat.of)?.push([waiting, repeat]) === undefined)
        followers.set(repeat.of, [[waiting, repeat]]);
    }
    for (const [of, others] of followers) {
      const place = places.get(of) as number;
      kept[place] = answeredTogether(kept[place] as Waiting, others);
    }
    return kept;
  }

  /** What it repeats is decided, and committed once all is that is decided now. */
  #answerRepeat({ request, at }: Waiting, repeats: Repeat): void {
    const answer = () => request.answer(at, { accepted: true, repeats, throttle: false });
    if (!this.#isAhead) answer();
    else this.#held.push({ seq: this.#state.seq, release: answer, reject: request.fail });
  }

  #decide(taken: readonly Waiting[]): Decided {
    const { recorder, onDecided } = this.#options;
    const attached = new Attached(taken);
    const now = Math.max(this.#turnAt, this.#time());
    this.#turnAt = now;
    const writer = this.#writer;
    const events: LedgerEvent[] = [];
    const stimuli = taken.map(({ stimulus }) => stimulus);
    const startedMs = performance.now();
    let kind: LedgerEvent["kind"] | undefined;
    const replies = step(this.#state, now, stimuli, (event) => {
      recorder?.note(this.#state, event, now, attached.of(event));
      writer.add(event);
      events.push(event);
      // A graph may be large.
      if (event.kind !== kind && event.kind !== "RunSubmitted") this.#specimens[event.kind] = event;
      kind = event.kind;
    });
    if (taken[0]) this.#specimens.request = taken[0].request;
    this.#options.onStep?.(performance.now() - startedMs);
    if (writer.count === 0) {
      return { taken, replies, events, now, block: undefined, rows: undefined, snapshot: undefined };
    }
    const block = writer.seal(this.#tip, this.#epoch, now);
    this.#tip = headOf(block);
    onDecided?.();
    return {
      taken,
      replies,
      events,
      now,
      block,
      rows: recorder?.take(),
      snapshot: this.#snapshots.isDue(this.#state, "now")
        ? this.#snapshots.take(this.#state, this.#tip)
        : undefined,
    };
  }

  /** Never rejects: what goes wrong is the end of the driver. */
  async #commit(
    { taken, replies, events, now, block, rows, snapshot }: Decided,
    before: Promise<void>,
  ): Promise<void> {
    const { store, onCommitted } = this.#options;
    try {
      if (this.#failure) throw this.#failure;
      if (block) {
        const startedMs = performance.now();
        const [committed] = await Promise.all([store.commit(block, rows), before]);
        this.#options.onCommit?.(performance.now() - startedMs, block.count);
        if (!committed) throw new StoreError("locked", "another process has written to this ledger");
        this.#committedSeq = block.seq + block.count - 1;
        onCommitted(events, now);
      } else await before;
      for (let at = 0; at < taken.length; at++) {
        const waiting = taken[at] as Waiting;
        waiting.request.answer(waiting.at, replies[at] as Reply);
      }
      this.#releaseHeld();
      if (snapshot) this.#snapshots.save(snapshot);
    } catch (error) {
      this.#fail(error as Error, taken);
    }
  }

  #releaseHeld(): void {
    const ready = this.#held.filter(({ seq }) => seq <= this.#committedSeq);
    if (ready.length === 0) return;
    this.#held = this.#held.filter(({ seq }) => seq > this.#committedSeq);
    for (const { release } of ready) release();
  }

  #time(): number {
    return Math.trunc(this.#options.clock()) + this.#aheadMs;
  }

  #fail(error: Error, taken: readonly Waiting[]): void {
    for (const { request } of taken) request.fail(this.#failure ?? error);
    if (this.#failure) return;
    this.#closed = true;
    this.#failure = error;
    for (const { request } of this.#arrivals.takeAll()) request.fail(error);
    for (const { reject } of this.#held) reject(error);
    this.#held = [];
    this.#options.onFailed(error);
  }

  /** Until something arrives, falls due, or nothing has happened for long enough that a snapshot is in nobody's way. */
  #rest(): void {
    this.#cancelWake();
    if (this.#closed) return;
    const { lookEveryMs = NEVER, wake = wakeByTimer } = this.#options;
    const wakeAt = Math.min(nextWakeAt(this.#state, this.#turnAt) ?? NEVER, this.#turnAt + lookEveryMs);
    const delayMs = Math.max(wakeAt - this.#time(), 1);
    if (delayMs > REST_MS && this.#snapshots.isDue(this.#state, "rest"))
      this.#cancelWake = wake(REST_MS, () => this.#takeSnapshot());
    else if (wakeAt < NEVER) this.#cancelWake = wake(Math.min(delayMs, MAX_TIMER_MS), () => this.#turn());
  }

  /** Until timers and sockets had their turn, and for as long as there is more to do than that. */
  async #leisure(): Promise<void> {
    if (performance.now() - this.#pausedMs < PART_MS) return;
    let turnAt = this.#turnAt;
    await setImmediate();
    for (let rests = 0; rests < MOST_RESTS && !this.#closed; rests++) {
      if (!this.#turning && this.#turnAt === turnAt) break;
      turnAt = this.#turnAt;
      await sleep(REST_MS);
    }
    this.#pausedMs = performance.now();
  }

  #takeSnapshot(): void {
    if (!this.#closed) this.#snapshots.save(this.#snapshots.take(this.#state, this.#tip));
    this.#rest();
  }
}

function truncated(end: number, head: number): StoreError {
  const what = `the ledger is truncated: its head is event ${head}, and its blocks end at ${end}`;
  return new StoreError("damaged", `${what}; restore a backup (orrery doctor looks at the rest)`);
}

const NEVER = Number.POSITIVE_INFINITY;

function wakeByTimer(delayMs: number, turn: () => void): () => void {
  const timer = setTimeout(turn, delayMs);
  return () => clearTimeout(timer);
}
