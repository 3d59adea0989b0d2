import { setMaxListeners } from "node:events";
import {
  type DeliveryProgress,
  type DeliveryRow,
  isAway,
  type WebhookRow,
  type WebhookStore,
} from "../store/index.ts";
import { nextTryAt } from "./schedule.ts";
import type { Message, Outcome } from "./sender.ts";
import { signedHeaders } from "./signature.ts";

export interface DelivererOptions {
  readonly store: WebhookStore;
  readonly active: () => readonly WebhookRow[];
  readonly send: (message: Message, stopped: AbortSignal) => Promise<Outcome>;
  /** How a webhook fared. */
  readonly onOutcome: (webhookId: string, outcome: Outcome) => void;
  readonly waitsMs: readonly number[];
  readonly now: () => number;
  readonly warn: (message: string) => void;
}

const AT_ONCE = 128;
const AT_ONCE_PER_WEBHOOK = 4;
/** One that does not answer keeps its place until the time is over: it gets no second one. */
const AT_ONCE_WHILE_FAILING = 1;
/** What is read ahead, so that a look at the store serves more than one delivery. */
const AHEAD = 512;
const AHEAD_PER_WEBHOOK = 32;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const LONGEST_PAUSE_MS = 60_000;

/** What is known of a webhook's deliveries here. */
interface Line {
  /** Those that are due, the earliest first. */
  readonly waiting: DeliveryRow[];
  busy: number;
  /** Whether the store may have more that are due. */
  hasMore: boolean;
}

/**
 * Sends what is due. Every webhook has places of its own, so that one that is slow or dead keeps nobody waiting. What
 * is under way when the server is killed is still due when it comes back: it is sent again, under the same id.
 */
export class Deliverer implements AsyncDisposable {
  readonly #options: DelivererOptions;
  readonly #stopped = new AbortController();
  readonly #lines = new Map<string, Line>();
  /** Those that were read and whose outcome is not written: they would be found due. */
  readonly #taken = new Set<string>();
  #busy = 0;
  #done: { readonly id: string; readonly progress: DeliveryProgress }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #writing: Promise<void> | undefined;
  #isAsked = false;
  #retryMs = FIRST_RETRY_MS;

  constructor(options: DelivererOptions) {
    this.#options = options;
    // All that are under way listen to it.
    setMaxListeners(AT_ONCE, this.#stopped.signal);
  }

  /** Something may be due. */
  nudge(): void {
    for (const line of this.#lines.values()) line.hasMore = true;
    this.#lookSoon();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#writing;
  }

  #lookSoon(): void {
    if (this.#stopped.signal.aborted) return;
    this.#isAsked = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      // It may have been asked after it looked whether it was.
      if (this.#isAsked) this.#lookSoon();
    });
  }

  async #look(): Promise<void> {
    while (this.#isAsked && !this.#stopped.signal.aborted) {
      this.#isAsked = false;
      try {
        this.#wakeIn(await this.#read());
        this.#retryMs = FIRST_RETRY_MS;
      } catch (error) {
        if (!isAway(error) && this.#retryMs === FIRST_RETRY_MS)
          this.#options.warn(`webhooks: what is due could not be read: ${(error as Error).message}`);
        this.#wakeIn(this.#retryMs);
        this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS);
      }
      this.#begin();
    }
  }

  /** Reads what is due and there is room for; says how long it is until something else will be. */
  async #read(): Promise<number> {
    const { store, active, now } = this.#options;
    const webhooks = active();
    const rooms = this.#rooms(webhooks);
    const time = now();
    const due = rooms.size > 0 ? await store.due(rooms, time, [...this.#taken]) : [];
    for (const delivery of due) {
      this.#taken.add(delivery.id);
      this.#lines.get(delivery.webhookId)?.waiting.push(delivery);
    }
    for (const [id, room] of rooms) {
      const line = this.#lines.get(id);
      if (line) line.hasMore = due.filter(({ webhookId }) => webhookId === id).length === room;
    }
    const next = await store.nextDue(
      webhooks.map(({ id }) => id),
      time,
    );
    return next === undefined ? LONGEST_PAUSE_MS : Math.min(Math.max(next - now(), 1), LONGEST_PAUSE_MS);
  }

  /** Those with the least at hand come first, so that all get their turn when there is much. */
  #rooms(webhooks: readonly WebhookRow[]): Map<string, number> {
    let left = AHEAD - this.#taken.size;
    const rooms = new Map<string, number>();
    const lines = webhooks.map(({ id }) => ({ id, line: this.#lineOf(id) }));
    lines.sort((a, b) => a.line.waiting.length - b.line.waiting.length);
    for (const { id, line } of lines) {
      const room = Math.min(AHEAD_PER_WEBHOOK - line.waiting.length, left);
      if (!line.hasMore || room <= 0) continue;
      rooms.set(id, room);
      left -= room;
    }
    return rooms;
  }

  #lineOf(id: string): Line {
    const line = this.#lines.get(id) ?? { waiting: [], busy: 0, hasMore: true };
    this.#lines.set(id, line);
    return line;
  }

  /** Begins what there are places for, and looks for more where little is left. */
  #begin(): void {
    if (this.#stopped.signal.aborted) return;
    const active = new Map(this.#options.active().map((webhook) => [webhook.id, webhook]));
    for (const [id, line] of this.#lines) {
      const webhook = active.get(id);
      if (webhook) this.#beginLine(webhook, line);
      else this.#giveBack(id, line);
    }
    const isShort = ({ waiting, hasMore }: Line) => hasMore && waiting.length < AHEAD_PER_WEBHOOK / 4;
    if (this.#taken.size < AHEAD && [...this.#lines.values()].some(isShort)) this.#lookSoon();
  }

  #beginLine(webhook: WebhookRow, line: Line): void {
    const most = webhook.failingSince === -1 ? AT_ONCE_PER_WEBHOOK : AT_ONCE_WHILE_FAILING;
    while (line.busy < most && this.#busy < AT_ONCE) {
      const delivery = line.waiting.shift();
      if (!delivery) return;
      void this.#deliver(delivery, webhook, line);
    }
  }

  /** Of a webhook that was disabled or removed: whatever becomes of it, nothing is sent to it now. */
  #giveBack(id: string, line: Line): void {
    for (const delivery of line.waiting.splice(0)) this.#taken.delete(delivery.id);
    // Nothing is read for it, so it must not be what is looked for; enabled again, it is asked for anew.
    line.hasMore = false;
    if (line.busy === 0) this.#lines.delete(id);
  }

  async #deliver(delivery: DeliveryRow, webhook: WebhookRow, line: Line): Promise<void> {
    const { send, onOutcome, now } = this.#options;
    const { signal } = this.#stopped;
    line.busy += 1;
    this.#busy += 1;
    const time = now();
    const secrets = webhook.secrets
      .filter(({ expiresAt }) => expiresAt === -1 || time < expiresAt)
      .map(({ secret }) => secret);
    const headers = signedHeaders(delivery.id, Math.floor(time / 1000), delivery.body, secrets);
    const outcome = await send({ url: webhook.url, headers, body: delivery.body }, signal);
    line.busy -= 1;
    this.#busy -= 1;
    // It was not tried to its end, and is still due when the server comes back.
    if (signal.aborted) return;
    onOutcome(webhook.id, outcome);
    this.#done.push({ id: delivery.id, progress: this.#progressOf(delivery, outcome) });
    this.#writeSoon();
    this.#begin();
  }

  #writeSoon(): void {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#done.length > 0) this.#writeSoon();
    });
  }

  #progressOf({ tries: before }: DeliveryRow, outcome: Outcome): DeliveryProgress {
    const { waitsMs, now } = this.#options;
    const tries = before + 1;
    const triedAt = now();
    const answered = "status" in outcome ? outcome.status : 0;
    if (isSuccess(outcome)) return { status: "delivered", tries, nextAt: -1, triedAt, answered, error: "" };
    const error = "error" in outcome ? outcome.error : `it answered ${answered}`;
    const again = answered === GONE ? undefined : nextTryAt(tries, triedAt, waitsMs);
    const status = again === undefined ? "failed" : "pending";
    return { status, tries, nextAt: again ?? -1, triedAt, answered, error };
  }

  async #write(): Promise<void> {
    while (this.#done.length > 0) {
      const done = this.#done;
      this.#done = [];
      try {
        await this.#options.store.progress(done);
      } catch (error) {
        // Those are sent once more.
        this.#options.warn(`webhooks: what was sent could not be noted: ${(error as Error).message}`);
      }
      for (const { id } of done) this.#taken.delete(id);
      this.#afterWriting(done);
    }
  }

  /** What is to be tried again may be due before anything else. */
  #afterWriting(done: readonly { readonly progress: DeliveryProgress }[]): void {
    if (done.some(({ progress }) => progress.nextAt >= 0)) this.nudge();
    else this.#begin();
  }

  #wakeIn(delayMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopped.signal.aborted) this.#timer = setTimeout(() => this.nudge(), delayMs);
  }
}

/** The receiver wants nothing more. */
export const GONE = 410;

export function isSuccess(outcome: Outcome): boolean {
  return "status" in outcome && outcome.status >= 200 && outcome.status < 300;
}
