import type { LogEntry } from "../protocol/index.ts";
import type { LogLine, ServiceStore } from "../store/index.ts";

const FLUSH_MS = 100;
/** Beyond this many lines that could not be written yet, further ones are let go. */
const MAX_WAITING = 50_000;
/** The last that a date can say. */
const LAST_INSTANT = 8_640_000_000_000_000;
/** Attempts whose bytes are counted; the oldest is forgotten first. */
const MAX_COUNTED = 10_000;

/** Gathers log lines and writes them in batches. Logs are not part of the ledger: what cannot be kept is let go. */
export class LogBuffer implements AsyncDisposable {
  readonly #store: Pick<ServiceStore, "appendLogs">;
  readonly #maxBytes: number;
  readonly #warn: (message: string) => void;
  #waiting: LogLine[] = [];
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastLine = 0;
  readonly #bytes = new Map<string, number>();

  constructor(store: Pick<ServiceStore, "appendLogs">, maxBytes: number, warn: (message: string) => void) {
    this.#store = store;
    this.#maxBytes = maxBytes;
    this.#warn = warn;
  }

  add(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.#addOne(entry);
    if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#flush();
  }

  #addOne({ task, attempt, at, stream, text }: LogEntry): void {
    const key = `${task}#${attempt}`;
    const before = this.#bytes.get(key) ?? 0;
    const after = before + Buffer.byteLength(text) + 1;
    if (before > this.#maxBytes || this.#waiting.length >= MAX_WAITING) return;
    this.#bytes.delete(key);
    this.#bytes.set(key, after);
    if (this.#bytes.size > MAX_COUNTED) this.#bytes.delete(this.#bytes.keys().next().value as string);
    const isCut = after > this.#maxBytes;
    const said = isCut ? `(cut here: an attempt may log ${this.#maxBytes} bytes)` : text;
    this.#waiting.push({
      taskId: task,
      attempt,
      line: this.#nextLine(),
      at: Math.min(at, LAST_INSTANT),
      stream: isCut ? "log" : stream,
      text: said,
    });
  }

  /** Numbers grow across restarts too, because they begin at the time. */
  #nextLine(): number {
    this.#lastLine = Math.max(this.#lastLine + 1, Date.now() * 1000);
    return this.#lastLine;
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    await this.#flushing;
    const lines = this.#waiting;
    this.#waiting = [];
    if (lines.length === 0) return;
    this.#flushing = this.#store.appendLogs(lines).catch((error: unknown) => {
      this.#warn(`${lines.length} log lines were lost: ${(error as Error).message}`);
    });
    await this.#flushing;
  }
}
