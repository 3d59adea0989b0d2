import { setTimeout as sleep } from "node:timers/promises";
import type { OrreryClient } from "../client/index.ts";

/** Beyond these, asking would cost the server more than it tells. */
const MOST_LOGS = 200;
const AT_ONCE = 4;
const MOST_LINES = 1000;
/** Lines may be written a moment after the end that they came before. */
const LATE_MS = 300;

interface Listener {
  output(taskId: string, text: string): void;
  note(text: string): void;
}

/** Brings what tasks have printed to whoever follows their run, each time that an attempt has ended. */
export class RemoteOutput {
  readonly #client: OrreryClient;
  readonly #listener: Listener;
  readonly #signal: AbortSignal;
  /** The last line that is known, by task. */
  readonly #last = new Map<string, number>();
  readonly #waiting: string[] = [];
  readonly #fetching = new Set<Promise<void>>();
  #asked = 0;

  constructor(client: OrreryClient, listener: Listener, signal: AbortSignal) {
    this.#client = client;
    this.#listener = listener;
    this.#signal = signal;
  }

  attemptEnded(taskId: string): void {
    if (++this.#asked <= MOST_LOGS) this.#waiting.push(taskId);
    else if (this.#asked === MOST_LOGS + 1)
      this.#listener.note("what further nodes print is not shown; see it with: orrery task ID --log");
    this.#fetchNext();
  }

  /** When all has been shown that will be. */
  async settled(): Promise<void> {
    while (this.#fetching.size > 0) await Promise.all(this.#fetching);
  }

  #fetchNext(): void {
    if (this.#fetching.size >= AT_ONCE) return;
    const taskId = this.#waiting.shift();
    if (taskId === undefined) return;
    const fetching = this.#fetch(taskId)
      // It is shown for convenience, and can be asked for later.
      .catch(() => {})
      .finally(() => {
        this.#fetching.delete(fetching);
        this.#fetchNext();
      });
    this.#fetching.add(fetching);
  }

  async #fetch(taskId: string): Promise<void> {
    if (await this.#show(taskId)) return;
    await sleep(LATE_MS, undefined, { signal: this.#signal });
    await this.#show(taskId);
  }

  /** Whether there was something. */
  async #show(taskId: string): Promise<boolean> {
    const after = this.#last.get(taskId) ?? -1;
    const lines = await this.#client.log(taskId, { after, limit: MOST_LINES, signal: this.#signal });
    const last = lines.at(-1);
    if (!last) return false;
    this.#last.set(taskId, last.line);
    this.#listener.output(taskId, lines.map(({ text }) => text).join("\n"));
    if (lines.length === MOST_LINES) this.#listener.note(`it printed more: orrery task ${taskId} --log`);
    return true;
  }
}
