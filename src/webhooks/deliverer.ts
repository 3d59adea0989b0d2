import type { DeliveryProgress, DeliveryRow, WebhookRow, WebhookStore } from "../store/index.ts";
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
const TRY_AGAIN_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Sends what is due. Every webhook has places of its own, so that one that is slow or dead keeps nobody waiting. What
 * is under way when the server is killed is still due when it comes back: it is sent again, under the same id.
 */
export class Deliverer implements AsyncDisposable {
  readonly #options: DelivererOptions;
  readonly #stopped = new AbortController();
  /** Webhooks by the deliveries under way. */
  readonly #underWay = new Map<string, string>();
  #done: { readonly id: string; readonly progress: DeliveryProgress }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #writing: Promise<void> | undefined;
  #mayBeMore = false;

  constructor(options: DelivererOptions) {
    this.#options = options;
  }

  /** Something may be due. */
  nudge(): void {
    if (this.#stopped.signal.aborted) return;
    this.#mayBeMore = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#writing;
  }

  async #look(): Promise<void> {
    while (this.#mayBeMore && !this.#stopped.signal.aborted) {
      this.#mayBeMore = false;
      clearTimeout(this.#timer);
      try {
        this.#wakeIn(await this.#begin());
      } catch (error) {
        this.#options.warn(`webhooks: what is due could not be read: ${(error as Error).message}`);
        this.#wakeIn(TRY_AGAIN_MS);
      }
    }
  }

  /** Begins what there is room for; says how long there is nothing else to do. */
  async #begin(): Promise<number> {
    const { store, active, now } = this.#options;
    const webhooks = new Map(active().map((webhook) => [webhook.id, webhook]));
    const rooms = this.#rooms([...webhooks.values()]);
    const time = now();
    const due = rooms.size > 0 ? await store.due(rooms, time, [...this.#underWay.keys()]) : [];
    for (const delivery of due) {
      const webhook = webhooks.get(delivery.webhookId);
      if (webhook && !this.#stopped.signal.aborted) void this.#deliver(delivery, webhook);
    }
    const next = await store.nextDue([...webhooks.keys()], time);
    return next === undefined ? LONGEST_PAUSE_MS : Math.min(Math.max(next - now(), 1), LONGEST_PAUSE_MS);
  }

  /** Those with the fewest under way come first, so that all get their turn when places are scarce. */
  #rooms(webhooks: readonly WebhookRow[]): Map<string, number> {
    const busy = new Map<string, number>();
    for (const id of this.#underWay.values()) busy.set(id, (busy.get(id) ?? 0) + 1);
    const busyOf = ({ id }: WebhookRow) => busy.get(id) ?? 0;
    let left = AT_ONCE - this.#underWay.size;
    const rooms = new Map<string, number>();
    for (const webhook of webhooks.toSorted((a, b) => busyOf(a) - busyOf(b))) {
      const most = webhook.failingSince === -1 ? AT_ONCE_PER_WEBHOOK : AT_ONCE_WHILE_FAILING;
      const room = Math.min(most - busyOf(webhook), left);
      if (room <= 0) continue;
      rooms.set(webhook.id, room);
      left -= room;
    }
    return rooms;
  }

  async #deliver(delivery: DeliveryRow, webhook: WebhookRow): Promise<void> {
    const { send, onOutcome, now } = this.#options;
    const { signal } = this.#stopped;
    this.#underWay.set(delivery.id, webhook.id);
    const time = now();
    const secrets = webhook.secrets
      .filter(({ expiresAt }) => expiresAt === -1 || time < expiresAt)
      .map(({ secret }) => secret);
    const headers = signedHeaders(delivery.id, Math.floor(time / 1000), delivery.body, secrets);
    const outcome = await send({ url: webhook.url, headers, body: delivery.body }, signal);
    // It was not tried to its end, and is still due when the server comes back.
    if (signal.aborted) return;
    onOutcome(webhook.id, outcome);
    this.#done.push({ id: delivery.id, progress: this.#progressOf(delivery, outcome) });
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
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

  /** A place is free again when it is written how its delivery ended: until then it would be found due. */
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
      for (const { id } of done) this.#underWay.delete(id);
      this.nudge();
    }
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
