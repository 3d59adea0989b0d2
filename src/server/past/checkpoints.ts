import { deserialize, serialize } from "node:v8";
import { restore, type Snapshot, State, takeSnapshot } from "../../scheduler/index.ts";

/** Events between two checkpoints where the state is small. To restore a large one takes as long as to replay many more. */
const EVERY = 1_000;
const TASKS_PER_EVENT = 8;
/** What all of them together may take; then every second one goes. */
const MOST_BYTES = 256 * 1024 * 1024;

/** States to replay from, so that none is far from one. As bytes: that is a third of what they take as objects. */
export class Checkpoints {
  readonly #every: number;
  readonly #mostBytes: number;
  #kept: { readonly seq: number; readonly bytes: Buffer }[] = [];
  #bytes = 0;
  #stretch = 1;
  #lastSeq = 0;

  constructor(every: number = EVERY, mostBytes: number = MOST_BYTES) {
    this.#every = every;
    this.#mostBytes = mostBytes;
  }

  takeIfDue(state: State): void {
    let size = state.singles.all.size;
    for (const run of state.runs.values()) size += run.graph.size;
    if (state.seq - this.#lastSeq < Math.max(this.#every, size / TASKS_PER_EVENT) * this.#stretch) return;
    const bytes = serialize(takeSnapshot(state));
    this.#lastSeq = state.seq;
    this.#kept.push({ seq: state.seq, bytes });
    this.#bytes += bytes.length;
    while (this.#bytes > this.#mostBytes && this.#kept.length > 1) this.#thin();
  }

  /** The last event that a checkpoint was taken after, up to this one; 0: the beginning. */
  seqBefore(seq: number): number {
    return this.#before(seq)?.seq ?? 0;
  }

  stateBefore(seq: number): State {
    const kept = this.#before(seq);
    return kept ? restore(deserialize(kept.bytes) as Snapshot) : new State();
  }

  #before(seq: number) {
    return this.#kept.findLast((one) => one.seq <= seq);
  }

  #thin(): void {
    this.#kept = this.#kept.filter((_, place) => place % 2 === 1);
    this.#bytes = this.#kept.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#stretch *= 2;
  }
}
