import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { Specimens } from "../core/index.ts";
import { type Block, BlockWriter, type Head, headOf, type LedgerEvent } from "../ledger/index.ts";
import { nextWakeAt, type Reply, type State, type Stimulus, step } from "../scheduler/index.ts";
import { isAway, type RowChanges, StoreError } from "../store/index.ts";
import { Arrivals } from "./arrivals.ts";
import { Attached } from "./attached.ts";
import { type Content, nameOf, refusedAmong, withoutContent } from "./content-check.ts";
import type { DriverOptions } from "./driver-options.ts";
import { Follower } from "./follower.ts";
import { HeldAnswers } from "./held-answers.ts";
import { MAX_IN_FLIGHT } from "./in-flight.ts";
import { type Answer, answeredTogether, type Repeat, Request, type Waiting } from "./request.ts";
import { Snapshots, type Taken } from "./snapshots.ts";
import { Suspicion } from "./suspicion.ts";

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
  /** Whether the store has checked the content of the inputs. */
  readonly wasChecked: boolean;
  readonly replies: readonly Reply[];
  readonly events: readonly LedgerEvent[];
  readonly now: number;
  /** Undefined: nothing was recorded. */
  readonly block: Block | undefined;
  readonly rows: RowChanges | undefined;
  /** The state as it is after the turn, where it is time for one. */
  readonly snapshot: Taken | undefined;
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
  #state: State;
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
  readonly #held = new HeldAnswers();
  /** Inputs of turns that were decided and could not be committed; `undefined` if there are no such turns. */
  #undone: Waiting[] | undefined;
  readonly #suspicion = new Suspicion();
  readonly #snapshots: Snapshots;
  /** When the one that is being written had its last pause. */
  #pausedMs: number = Number.NEGATIVE_INFINITY;
  readonly #writer = new BlockWriter();
  /** See `Specimens`. */
  readonly #specimens: Specimens<"request" | LedgerEvent["kind"]> = {};
  /** The ledger's time minus the clock. It is fixed when the driver opens, so that both go on at the same pace. */
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
    // The ledger's time does not go back. If the clock says that time has passed since the last event, it has.
    const { clockOffsetMs, now } = state;
    this.#aheadMs = Math.max(-clockOffsetMs, now - Math.trunc(options.clock()));
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

  /**
   * The state, for reading only. It may be ahead of what is committed; use `read` for what others are to see. Do not keep
   * it: a state that is ahead of a refused commit is replaced by another.
   */
  get state(): State {
    return this.#state;
  }

  /** The ledger's time as it is now; the state only knows that of its last event. */
  now(): number {
    return Math.max(this.#turnAt, this.#state.now, this.#time());
  }

  /** The time of day by the clock corrections of the ledger. Everything that is told outside of the loop is in this time. */
  timeOfDay(): number {
    return this.#state.timeOfDay(this.now());
  }

  /** Looks at the state; what was seen is told when all of it is committed. */
  async read<Seen>(look: (state: State) => Seen): Promise<Seen> {
    for (;;) {
      if (this.#failure) throw this.#failure;
      const seen = look(this.#state);
      if (!this.#isAhead) return seen;
      const { seq } = this.#state;
      const isTrue = await new Promise<boolean>((settle, reject) => this.#held.add({ seq, settle, reject }));
      if (isTrue) return seen;
    }
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
      const error = this.#failure ?? new StoreError("locked", "the scheduler has stopped");
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
      if (this.#undone || !this.#arrivals.isEmpty) this.#turn();
      else this.#rest();
    });
  }

  async #turns(): Promise<void> {
    // Whatever else is submitted in the same moment belongs to the same turn.
    await Promise.resolve();
    do {
      if (this.#undone) await this.#goBack(this.#undone);
      const isCareful = this.#suspicion.isCareful;
      if (isCareful) await this.#lastInFlight;
      const taken = this.#arrivals.take(this.#inFlight.length === 0, this.#suspicion.most);
      try {
        const fresh = await this.#withoutRepeats(taken);
        const checked = isCareful ? await this.#checked(fresh) : undefined;
        const wanted = checked ?? fresh;
        // An earlier turn may have been refused in the meantime.
        if (this.#undone) this.#undone.push(...wanted);
        else this.#send(this.#decide(wanted, checked !== undefined));
      } catch (error) {
        this.#fail(error as Error, taken);
      }
      await this.#committedOrEnough();
    } while (!this.#arrivals.isEmpty);
    await this.#lastInFlight;
  }

  /** Replaces inputs whose content the store refuses. Returns `undefined` if the store cannot be asked. Nothing is in flight. */
  async #checked(taken: readonly Waiting[]): Promise<readonly Waiting[] | undefined> {
    const { store, recorder, onContentRefused } = this.#options;
    const now = this.now();
    const contents: Content[] = [];
    for (const [at, { stimulus, attached }] of taken.entries()) {
      const rows = recorder?.contentOf?.(this.#state, stimulus, attached, now);
      if (rows) contents.push({ at, rows });
    }
    const where = { tip: this.#tip, epoch: this.#epoch, now };
    const refused = await refusedAmong(store, contents, where).catch(() => undefined);
    if (!refused) return undefined;
    const wanted: Waiting[] = [];
    for (const [at, waiting] of taken.entries()) {
      const error = refused.get(at) ?? (this.#suspicion.isCulprit(waiting) ? UNCLEAR : undefined);
      if (!error) {
        wanted.push(waiting);
        continue;
      }
      this.#suspicion.renew();
      const name = nameOf(waiting, contents.find((content) => content.at === at)?.rows);
      onContentRefused?.(`the store refused the content of ${name}: ${error.message}`);
      const instead = withoutContent(waiting);
      if (instead) wanted.push(instead);
      else waiting.request.fail(error);
    }
    return wanted;
  }

  /** Rebuilds the state from what is stored, and takes the inputs of turns that were not committed again. */
  async #goBack(undone: readonly Waiting[]): Promise<void> {
    await this.#lastInFlight;
    try {
      const { store, recorder, onUndone } = this.#options;
      const { state, snapshotSeq } = await this.#rebuilt();
      if (this.#failure) throw this.#failure;
      if (state.seq !== store.head.seq)
        throw new StoreError("locked", "another process has written to this ledger");
      this.#state = state;
      this.#tip = store.head;
      this.#committedSeq = state.seq;
      this.#snapshots.goBack(snapshotSeq);
      recorder?.reset?.();
      onUndone?.();
      this.#undone = undefined;
      this.#arrivals.putBack(undone);
      this.#held.undo();
    } catch (error) {
      this.#undone = undefined;
      this.#fail(error as Error, undone);
    }
  }

  async #rebuilt(): Promise<Follower> {
    const { store } = this.#options;
    for (;;) {
      try {
        const follower = await Follower.open(store);
        await follower.catchUp(Number.POSITIVE_INFINITY);
        return follower;
      } catch (error) {
        // Nobody is answered until the store can be read again.
        if (!isAway(error) || this.#closed) throw error;
        await sleep(REST_MS);
      }
    }
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
  #answerRepeat(waiting: Waiting, repeats: Repeat): void {
    const { request, at } = waiting;
    const settle = (isCommitted: boolean) => {
      if (isCommitted) request.answer(at, { accepted: true, repeats, throttle: false });
      else this.#arrivals.add([waiting]);
    };
    if (!this.#isAhead) settle(true);
    else this.#held.add({ seq: this.#state.seq, settle, reject: request.fail });
  }

  #decide(taken: readonly Waiting[], wasChecked: boolean): Decided {
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
      const none = { block: undefined, rows: undefined, snapshot: undefined };
      return { taken, wasChecked, replies, events, now, ...none };
    }
    const block = writer.seal(this.#tip, this.#epoch, now);
    this.#tip = headOf(block);
    onDecided?.();
    return {
      taken,
      wasChecked,
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

  /** Never rejects: what goes wrong is the end of the driver, unless the store refused the content of the block. */
  async #commit(decided: Decided, before: Promise<void>): Promise<void> {
    const { taken, replies, events, now, block, rows, snapshot } = decided;
    const { store, onCommitted } = this.#options;
    try {
      if (this.#failure) throw this.#failure;
      if (block) {
        const startedMs = performance.now();
        const committed = await outcomeOf(store.commit(block, rows), before);
        if (this.#undone) {
          // The decision was made in a state that was never committed.
          this.#undone.push(...taken);
          return;
        }
        if (committed instanceof StoreError) {
          this.#noteRefused(decided, committed);
          return;
        }
        this.#options.onCommit?.(performance.now() - startedMs, block.count);
        if (!committed) throw new StoreError("locked", "another process has written to this ledger");
        this.#committedSeq = block.seq + block.count - 1;
        onCommitted(events, now);
      } else {
        await before;
        if (this.#undone) {
          this.#undone.push(...taken);
          return;
        }
      }
      this.#suspicion.noteCommitted(taken);
      for (let at = 0; at < taken.length; at++) {
        const waiting = taken[at] as Waiting;
        waiting.request.answer(waiting.at, replies[at] as Reply);
      }
      this.#held.release(this.#committedSeq);
      if (snapshot) this.#snapshots.save(snapshot);
    } catch (error) {
      this.#fail(error as Error, taken);
    }
  }

  #noteRefused({ taken, wasChecked }: Decided, error: StoreError): void {
    if (!this.#suspicion.noteRefused(taken, wasChecked)) throw error;
    this.#undone = [...taken];
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
    for (const { request } of this.#undone ?? []) request.fail(error);
    this.#undone = undefined;
    this.#held.fail(error);
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

const UNCLEAR = new StoreError("refused", "every block that holds it was refused");

/** What came of a commit, once all that was sent before it has its outcome: the error only if it was refused for its content. */
async function outcomeOf(sent: Promise<boolean>, before: Promise<void>): Promise<boolean | StoreError> {
  const outcome = sent.catch((error: unknown) => {
    if (error instanceof StoreError && error.code === "refused") return error;
    throw error;
  });
  await Promise.all([outcome, before]);
  return outcome;
}

function wakeByTimer(delayMs: number, turn: () => void): () => void {
  const timer = setTimeout(turn, delayMs);
  return () => clearTimeout(timer);
}
