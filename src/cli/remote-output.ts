import { setTimeout as sleep } from "node:timers/promises";
import type { OrreryClient } from "../client/index.ts";

/** Beyond these, asking would cost the server more than it tells. */
const MOST_LOGS = 200;
const AT_ONCE = 4;
const MOST_LINES = 1000;
/** Lines may be written a moment after the end that they came before. */
const LATE_MS = 300;
/** So long the end of a run waits for what is still to be shown. */
const SETTLE_MS = 2_000;

interface Listener {
  output(taskId: string, text: string): void;
  note(text: string): void;
}

/** Brings what tasks have printed to whoever follows their run, each time that an attempt has ended. */
export class RemoteOutput {
  readonly #client: Pick<OrreryClient, "log">;
  readonly #listener: Listener;
  readonly #signal: AbortSignal;
  /** The last line that is known, by task. */
  readonly #last = new Map<string, number>();
  /** Tasks to ask for, each once, and those that are being asked for. */
  readonly #waiting = new Set<string>();
  readonly #fetching = new Map<string, Promise<void>>();
  /** The last attempt that has ended, by task. */
  readonly #ended = new Map<string, number>();
  /** Of their last attempt there was nothing when they were asked. */
  readonly #silent = new Set<string>();
  #asked = 0;

  constructor(client: Pick<OrreryClient, "log">, listener: Listener, signal: AbortSignal) {
    this.#client = client;
    this.#listener = listener;
    this.#signal = signal;
  }

  attemptEnded(taskId: string, attempt: number): void {
    this.#ended.set(taskId, attempt);
    if (++this.#asked <= MOST_LOGS) this.#waiting.add(taskId);
    else if (this.#asked === MOST_LOGS + 1)
      this.#listener.note("what further nodes print is not shown; see it with: orrery task ID --log");
    this.#fetchNext();
  }

  /** When all has been shown that will be. Those that were silent are asked once more, together. */
  async settled(): Promise<void> {
    const hasEnded = new AbortController();
    const all = this.#all(hasEnded.signal);
    await Promise.race([all, sleep(SETTLE_MS, undefined, { signal: hasEnded.signal }).catch(() => {})]);
    this.#waiting.clear();
    hasEnded.abort();
  }

  async #all(signal: AbortSignal): Promise<void> {
    await this.#allFetched();
    if (this.#silent.size === 0) return;
    await sleep(LATE_MS, undefined, { signal }).catch(() => {});
    for (const taskId of this.#silent) this.#waiting.add(taskId);
    this.#fetchNext();
    await this.#allFetched();
  }

  async #allFetched(): Promise<void> {
    while (this.#fetching.size > 0) await Promise.all(this.#fetching.values());
  }

  #fetchNext(): void {
    for (const taskId of this.#waiting) {
      if (this.#fetching.size >= AT_ONCE) return;
      // Its lines are known when it has been asked.
      if (this.#fetching.has(taskId)) continue;
      this.#waiting.delete(taskId);
      const fetching = this.#show(taskId)
        // It is shown for convenience, and can be asked for later.
        .catch(() => {})
        .finally(() => {
          this.#fetching.delete(taskId);
          this.#fetchNext();
        });
      this.#fetching.set(taskId, fetching);
    }
  }

  async #show(taskId: string): Promise<void> {
    const after = this.#last.get(taskId) ?? -1;
    const lines = await this.#client.log(taskId, { after, limit: MOST_LINES, signal: this.#signal });
    const last = lines.at(-1);
    if (last && last.attempt >= (this.#ended.get(taskId) ?? 0)) this.#silent.delete(taskId);
    else this.#silent.add(taskId);
    if (!last) return;
    this.#last.set(taskId, last.line);
    this.#listener.output(taskId, lines.map(({ text }) => text).join("\n"));
    if (lines.length === MOST_LINES) this.#listener.note(`it printed more: orrery task ${taskId} --log`);
  }
}
