import { Worker } from "node:worker_threads";
import type { Target } from "./connection.ts";
import { sql } from "./sql.ts";

/** For so many leases a main thread may compute without a pause; then something is wrong with it. */
const PATIENCE_LEASES = 5;

export interface PacemakerOptions {
  readonly target: Target;
  readonly epoch: number;
  readonly holder: string;
  readonly leaseMs: number;
}

/**
 * Beats in the place of a main thread that cannot. A graph of a hundred thousand nodes keeps it for seconds, and a
 * leader that only works must not be taken for one that is dead: the next one would be asked for the same, and be
 * deposed in turn. A process that is dead or stands still has no threads that beat.
 */
export class Pacemaker {
  readonly #beats = new SharedArrayBuffer(4);
  readonly #thread: Worker;

  constructor({ target, epoch, holder, leaseMs }: PacemakerOptions) {
    this.#thread = new Worker(new URL("pacemaker-thread.mjs", import.meta.url), {
      workerData: {
        url: target.url,
        schema: target.schema,
        settings: sql("settings-of-reads").text,
        beat: sql("beat").text,
        epoch,
        holder,
        everyMs: leaseMs / 3,
        patienceMs: leaseMs * PATIENCE_LEASES,
        beats: this.#beats,
      },
    });
    this.#thread.unref();
    // Without it the process beats by its main thread only.
    this.#thread.on("error", () => {});
  }

  /** The main thread has beaten by itself. */
  note(): void {
    Atomics.add(new Int32Array(this.#beats), 0, 1);
  }

  stop(): void {
    void this.#thread.terminate();
  }
}
