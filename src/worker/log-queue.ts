import type { LogEntry } from "../protocol/index.ts";

const MAX_BATCH_ENTRIES = 1000;
const MAX_BATCH_CHARS = 256 * 1024;
const FLUSH_MS = 100;
/** What is kept while there is no connection. Beyond it the oldest goes: the latest lines tell most. */
const MAX_WAITING_CHARS = 16 * 1024 * 1024;

/** Gathers log entries for a moment, so that a command that prints fast does not send a message per line. */
export class LogQueue {
  readonly #flush: () => void;
  #entries: LogEntry[] = [];
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(flush: () => void) {
    this.#flush = flush;
  }

  add(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#chars += entry.text.length;
    while (this.#chars > MAX_WAITING_CHARS) this.#chars -= this.#entries.shift()?.text.length ?? 0;
    this.#timer ??= setTimeout(this.#flush, FLUSH_MS);
  }

  /** Everything that waits, in batches that fit into a message. */
  take(): LogEntry[][] {
    this.stop();
    const batches: LogEntry[][] = [];
    let batch: LogEntry[] = [];
    let chars = 0;
    for (const entry of this.#entries) {
      if (batch.length === MAX_BATCH_ENTRIES || chars + entry.text.length > MAX_BATCH_CHARS) {
        batches.push(batch);
        batch = [];
        chars = 0;
      }
      batch.push(entry);
      chars += entry.text.length;
    }
    if (batch.length > 0) batches.push(batch);
    this.#entries = [];
    this.#chars = 0;
    return batches;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
