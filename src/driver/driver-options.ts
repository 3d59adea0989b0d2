import type { LedgerEvent, SchedulerConfig } from "../ledger/index.ts";
import type { State, Stimulus } from "../scheduler/index.ts";
import type { RowChanges, Store } from "../store/index.ts";
import type { Follower } from "./follower.ts";
import type { Repeat } from "./request.ts";

export interface DriverOptions {
  readonly store: Store;
  readonly config: SchedulerConfig;
  /** The epoch that this process leads. By default a new one: for a store that nobody leads. */
  readonly epoch?: number;
  /** What the store's ledger makes, where it is known already. It is the driver's from now on. */
  readonly follower?: Follower;
  /** A steady clock that began at the time of day, in milliseconds. Where it jumps back, the ledger's time stands still. */
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
  /** The turns that were decided and are not committed never happened. Their inputs are decided again. */
  readonly onUndone?: () => void;
  /** The store refused the content of an input, which was refused alone. */
  readonly onContentRefused?: (message: string) => void;
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
  /** Returns the rows with the content of an input, as far as they are known before it is decided. */
  contentOf?(state: State, stimulus: Stimulus, attached: unknown, now: number): RowChanges | undefined;
  /** Drops what was noted of turns that were decided and never committed. */
  reset?(): void;
  /** In the state before the event. */
  note(state: State, event: LedgerEvent, now: number, attached: unknown): void;
  /** What the turn changes in the rows. */
  take(): RowChanges;
}
