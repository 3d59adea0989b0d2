import { violated } from "../core/index.ts";

/**
 * Where a task stands. Numbers, because a run keeps them in one byte per node.
 *
 * The two that settle last only from a report to the decision on it in the same turn: no committed state
 * shows them.
 */
export const Status = {
  /** Something that it needs has not completed. */
  waiting: 0,
  /** Waits for a person. */
  held: 1,
  ready: 2,
  /** Ready again at a time that is still to come, or has come and no turn has used it yet. */
  delayed: 3,
  /** Given to a worker, which has not said that it began. */
  assigned: 4,
  running: 5,
  /** On a worker that was told to stop it. */
  cancelling: 6,
  settling: 7,
  settlingCancel: 8,
  completed: 9,
  failed: 10,
  cancelled: 11,
  /** Something that it needs will never complete. */
  skipped: 12,
  /** Tried in several alternatives, on which there is a vote to come. */
  speculating: 13,
  /** Its attempt ended by submitting a run, whose result will be its own. */
  expanded: 14,
} as const;

export type StatusName = keyof typeof Status;
export type Status = (typeof Status)[StatusName];

export const STATUS_NAMES: readonly StatusName[] = Object.keys(Status) as StatusName[];

const {
  waiting,
  held,
  ready,
  delayed,
  assigned,
  running,
  cancelling,
  settling,
  settlingCancel,
  completed,
  failed,
  cancelled,
  skipped,
  speculating,
  expanded,
} = Status;

const NEXT: readonly number[] = bits({
  // Failed: what it made was never there when it was needed.
  // Assigned: its worker is still making its last inputs.
  // Completed: the node that it stands for has.
  [waiting]: [ready, assigned, completed, cancelled, skipped, failed],
  [held]: [cancelled, skipped],
  // Failed: its deadline passed before it began.
  // Waiting: a result that it needs was lost, and is made again.
  // Completed: its result is that of another.
  [ready]: [assigned, speculating, completed, cancelled, failed, waiting],
  [delayed]: [assigned, speculating, cancelled, failed, waiting],
  // Waiting: it was given out ahead of an input that is not made now.
  [assigned]: [waiting, running, cancelling, settling, completed, expanded],
  // A lost attempt sends its task back: the worker may still be running it, so a report must name the
  // attempt that it is about.
  [running]: [waiting, cancelling, settling, completed, expanded],
  [cancelling]: [waiting, settlingCancel, completed],
  // Cancelled: another task that settles in the same turn has failed its run.
  // Skipped: what it needs was being made again, and will not be.
  [settling]: [delayed, failed, cancelled, skipped, waiting],
  [settlingCancel]: [cancelled, skipped],
  // Its result was lost.
  [completed]: [waiting],
  [failed]: [],
  [cancelled]: [],
  [skipped]: [],
  // Failed: nobody won.
  [speculating]: [completed, failed, cancelled],
  [expanded]: [completed, failed, cancelled],
});

function bits(table: Readonly<Record<Status, readonly Status[]>>): number[] {
  return STATUS_NAMES.map((name) => table[Status[name]].reduce<number>((mask, to) => mask | (1 << to), 0));
}

export function checkMove(from: Status, to: Status): void {
  if (((NEXT[from] as number) & (1 << to)) === 0)
    violated(`a ${STATUS_NAMES[from]} task cannot become ${STATUS_NAMES[to]}`);
}

export function isEnded(status: Status): boolean {
  return status >= completed && status <= skipped;
}

/** On a worker: what it holds there must be given back when it ends. */
export function isPlaced(status: Status): boolean {
  return status === assigned || status === running || status === cancelling;
}

/** What it needs was there when it was given to a worker. */
export function hasBegun(status: Status): boolean {
  return isPlaced(status) || status === expanded;
}

/** Its attempt has ended, and what becomes of it is decided in the same turn. */
export function isSettling(status: Status): boolean {
  return status === settling || status === settlingCancel;
}
