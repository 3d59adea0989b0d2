import { invariant } from "../core/index.ts";
import { type Block, BlockWriter, type LedgerEvent, type SchedulerConfig } from "../ledger/index.ts";
import {
  nextWakeAt,
  type Reply,
  type State,
  type Stimulus,
  stateHash,
  step,
  takeSnapshot,
} from "../scheduler/index.ts";
import { type RowChanges, type Store, StoreError } from "../store/index.ts";
import { Follower } from "./follower.ts";

export interface DriverOptions {
  readonly store: Store;
  readonly config: SchedulerConfig;
  /** The epoch that this process leads. By default a new one: for a store that nobody leads. */
  readonly epoch?: number;
  /** What the store's ledger makes, where it is known already. It is the driver's from now on. */
  readonly state?: State;
  /** The time of day in milliseconds. It should go evenly: where it jumps back, what is due waits. */
  readonly clock: () => number;
  /** Called at about a time of the clock; the answer takes it back. By default the process's timers. */
  readonly wake?: (delayMs: number, turn: () => void) => () => void;
  /** What a committed turn recorded: from here on it may have effects. */
  readonly onCommitted: (events: readonly LedgerEvent[], now: number) => void;
  /** How long a turn took to decide. */
  readonly onStep?: (ms: number) => void;
  /** How long a commit took, and how many events it held. */
  readonly onCommit?: (ms: number, events: number) => void;
  /** Keeps rows beside the ledger. */
  readonly recorder?: Recorder;
  /** Events between two snapshots. */
  readonly snapshotEvery?: number;
  /** Nothing can be committed any more. The state is beyond what is stored and must not be used. */
  readonly onFailed: (error: Error) => void;
}

/**
 * Follows a turn as it is decided, for what is kept beside the ledger. What a stimulus brings along that no
 * decision needs (a payload, a result) is attached to it.
 */
export interface Recorder {
  /** Before a turn: what of it repeats an earlier submission, in the same order. Where that cannot be told, it throws. */
  repeats(attached: readonly unknown[]): Promise<readonly (Repeat | undefined)[]>;
  /** About how many bytes will be kept of what is attached. */
  weigh?(attached: unknown): number;
  /** In the state before the event. */
  note(state: State, event: LedgerEvent, now: number, attached: unknown): void;
  /** What the turn changes in the rows. */
  take(): RowChanges;
}

/** The submission that is repeated. */
export interface Repeat {
  readonly taskId: string;
  readonly bodyHash: string;
  /** Its place in the same turn; undefined: it is of an earlier one. */
  readonly of: number | undefined;
}

/** The answer to a stimulus: the scheduler's, or that it repeats an earlier one, with that one's answer. */
export type Answer = Reply | { readonly accepted: true; readonly repeats: Repeat; readonly throttle: false };

/** Events between two snapshots, where the state is small; a large one is not written out more often than it changes. */
const SNAPSHOT_EVERY = 100_000;
/** What is attached to the stimuli of one turn, unless one of them alone brings more. */
const MAX_TURN_BYTES = 32 * 1024 * 1024;
const MAX_TURN_STIMULI = 20_000;
/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Waiting {
  readonly stimulus: Stimulus;
  readonly attached: unknown;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Turns the loop: gathers stimuli while a block is being committed, takes one turn with all of them, commits
 * what it recorded, and only then answers and lets the effects out.
 */
export class Driver implements AsyncDisposable {
  readonly #options: DriverOptions;
  readonly #state: State;
  readonly #epoch: number;
  #waiting: Waiting[] = [];
  #turning: Promise<void> | undefined;
  #cancelWake: () => void = () => {};
  /** A turn has changed the state and is not committed: nobody may see it. */
  #isAhead = false;
  #readers: { readonly read: () => void; readonly reject: (error: Error) => void }[] = [];
  #snapshotSeq: number;
  /** How far the ledger's time was ahead of the clock: time goes on from there, it does not stand still. */
  readonly #aheadMs: number;
  /** When the last turn was, whether or not it recorded anything: the next is not before it. */
  #turnAt: number;
  #closed = false;
  #failure: Error | undefined;

  private constructor(options: DriverOptions, state: State) {
    this.#options = options;
    this.#state = state;
    this.#epoch = options.epoch ?? options.store.head.epoch + 1;
    this.#snapshotSeq = state.seq;
    this.#turnAt = state.now;
    this.#aheadMs = Math.max(0, state.now - Math.trunc(options.clock()));
  }

  /** Rebuilds the state from what is stored, unless it is known, and goes on from there. */
  static async open(options: DriverOptions): Promise<Driver> {
    const { store, config } = options;
    const state = options.state ?? (await recover(store));
    if (state.seq > store.head.seq) throw new StoreError("locked", "another process writes to this ledger");
    invariant(state.seq === store.head.seq, "replay ends where the ledger does");
    const driver = new Driver(options, state);
    if (JSON.stringify(state.config) !== JSON.stringify(config) || state.seq === 0) {
      await driver.submit({ kind: "SchedulerConfigured", config });
    } else {
      // What fell due while nobody was there, or will, wakes it as if it had never stopped.
      driver.#armTimer();
    }
    return driver;
  }

  /** To be read only, and between turns only: in `onCommitted`. Elsewhere, see `read`. */
  get state(): State {
    return this.#state;
  }

  /** The ledger's time as it is now; the state only knows that of its last event. */
  now(): number {
    return Math.max(this.#turnAt, this.#state.now, this.#time());
  }

  /** Looks at the state when all of it is committed: at once, or after the commit that is under way. */
  read<Seen>(look: (state: State) => Seen): Promise<Seen> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const read = () => {
        try {
          resolve(look(this.#state));
        } catch (error) {
          reject(error as Error);
        }
      };
      if (this.#isAhead) this.#readers.push({ read, reject });
      else read();
    });
  }

  /** The answer comes when the turn that took the stimulus is committed. */
  submit(stimulus: Stimulus, attached?: unknown): Promise<Answer> {
    if (this.#closed)
      return Promise.reject(this.#failure ?? new StoreError("unwritable", "the scheduler has stopped"));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ stimulus, attached, resolve, reject });
      this.#turn();
    });
  }

  /** Several that belong to one turn. */
  submitAll(
    stimuli: readonly { readonly stimulus: Stimulus; readonly attached?: unknown }[],
  ): Promise<Answer[]> {
    return Promise.all(stimuli.map(({ stimulus, attached }) => this.submit(stimulus, attached)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#cancelWake();
    await this.#turning;
  }

  #turn(): void {
    this.#turning ??= this.#turns().finally(() => {
      this.#turning = undefined;
      // An answer may have led to a stimulus after the last turn looked for one.
      if (this.#waiting.length > 0) this.#turn();
      else this.#armTimer();
    });
  }

  async #turns(): Promise<void> {
    // Whatever else is submitted in the same moment belongs to the same turn.
    await Promise.resolve();
    do {
      const taken = this.#takeWaiting();
      try {
        await this.#takeTurn(await this.#withoutRepeats(taken));
      } catch (error) {
        this.#fail(error as Error, taken);
      }
    } while (this.#waiting.length > 0);
  }

  /** What has arrived, but no more than a block should hold: the rest is for the turn after. */
  #takeWaiting(): Waiting[] {
    const { recorder } = this.#options;
    let bytes = 0;
    let count = 0;
    for (const { attached } of this.#waiting) {
      bytes += attached === undefined ? 0 : (recorder?.weigh?.(attached) ?? 0);
      if (count > 0 && (bytes > MAX_TURN_BYTES || count >= MAX_TURN_STIMULI)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  /** Answers what repeats a submission of an earlier turn, and ties what repeats one of this turn to it. */
  async #withoutRepeats(taken: readonly Waiting[]): Promise<readonly Waiting[]> {
    const { recorder } = this.#options;
    if (!recorder || taken.every(({ attached }) => attached === undefined)) return taken;
    let repeats: readonly (Repeat | undefined)[];
    try {
      repeats = await recorder.repeats(taken.map(({ attached }) => attached));
    } catch (error) {
      for (const { attached, reject } of taken) if (attached !== undefined) reject(error as Error);
      return taken.filter(({ attached }) => attached === undefined);
    }
    const kept = new Map<number, Waiting>();
    const followers = new Map<number, [waiting: Waiting, repeats: Repeat][]>();
    for (const [at, waiting] of taken.entries()) {
      const repeat = repeats[at];
      if (!repeat) kept.set(at, waiting);
      else if (repeat.of === undefined) waiting.resolve({ accepted: true, repeats: repeat, throttle: false });
      else if (followers.get(repeat.of)?.push([waiting, repeat]) === undefined)
        followers.set(repeat.of, [[waiting, repeat]]);
    }
    for (const [of, others] of followers) kept.set(of, answeredTogether(kept.get(of) as Waiting, others));
    return [...kept.values()];
  }

  async #takeTurn(taken: readonly Waiting[]): Promise<void> {
    const { store, onCommitted, recorder } = this.#options;
    const attached = new Map<LedgerEvent, unknown>();
    for (const waiting of taken) {
      if (waiting.attached !== undefined) attached.set(waiting.stimulus, waiting.attached);
    }
    const now = Math.max(this.#turnAt, this.#time());
    this.#turnAt = now;
    const writer = new BlockWriter();
    const events: LedgerEvent[] = [];
    const stimuli = taken.map(({ stimulus }) => stimulus);
    this.#isAhead = true;
    const startedMs = performance.now();
    const replies = step(this.#state, now, stimuli, (event) => {
      recorder?.note(this.#state, event, now, attached.get(event));
      writer.add(event);
      events.push(event);
    });
    this.#options.onStep?.(performance.now() - startedMs);
    if (writer.count > 0) {
      await this.#commit(writer.seal(store.head, this.#epoch, now), recorder?.take());
      onCommitted(events, now);
    }
    this.#isAhead = false;
    for (const [at, { resolve }] of taken.entries()) resolve(replies[at] as Reply);
    const readers = this.#readers;
    this.#readers = [];
    for (const { read } of readers) read();
  }

  async #commit(block: Block, rows: RowChanges | undefined): Promise<void> {
    const { store } = this.#options;
    const startedMs = performance.now();
    const committed = await store.commit(block, rows);
    this.#options.onCommit?.(performance.now() - startedMs, block.count);
    if (!committed) throw new StoreError("locked", "another process has written to this ledger");
    const { snapshotEvery = SNAPSHOT_EVERY } = this.#options;
    if (this.#state.seq - this.#snapshotSeq < snapshotEvery) return;
    let size = this.#state.singles.all.size;
    for (const run of this.#state.runs.values()) size += run.graph.size;
    if (this.#state.seq - this.#snapshotSeq < size) return;
    this.#snapshotSeq = this.#state.seq;
    const snapshot = {
      head: store.head,
      stateHash: stateHash(this.#state),
      state: takeSnapshot(this.#state),
    };
    // A snapshot only saves time: one that cannot be written is as good as none.
    await store.saveSnapshot(snapshot).catch(() => {});
  }

  #time(): number {
    return Math.trunc(this.#options.clock()) + this.#aheadMs;
  }

  #fail(error: Error, taken: readonly Waiting[]): void {
    this.#closed = true;
    this.#failure = error;
    for (const { reject } of [...taken, ...this.#waiting, ...this.#readers]) reject(error);
    this.#waiting = [];
    this.#readers = [];
    this.#options.onFailed(error);
  }

  #armTimer(): void {
    this.#cancelWake();
    const wakeAt = this.#closed ? undefined : nextWakeAt(this.#state, this.#turnAt);
    if (wakeAt === undefined) return;
    const delayMs = Math.min(Math.max(wakeAt - this.#time(), 1), MAX_TIMER_MS);
    this.#cancelWake = (this.#options.wake ?? wakeByTimer)(delayMs, () => this.#turn());
  }
}

function wakeByTimer(delayMs: number, turn: () => void): () => void {
  const timer = setTimeout(turn, delayMs);
  return () => clearTimeout(timer);
}

/** What repeats a submission of the same turn is answered with it: taken, or refused for the same reason. */
function answeredTogether(first: Waiting, others: readonly [waiting: Waiting, repeats: Repeat][]): Waiting {
  return {
    ...first,
    resolve: (answer) => {
      first.resolve(answer);
      for (const [other, repeats] of others) {
        other.resolve(answer.accepted ? { accepted: true, repeats, throttle: false } : answer);
      }
    },
    reject: (error) => {
      first.reject(error);
      for (const [other] of others) other.reject(error);
    },
  };
}

async function recover(store: Store): Promise<State> {
  const follower = await Follower.open(store);
  await follower.catchUp(Number.POSITIVE_INFINITY);
  return follower.state;
}
