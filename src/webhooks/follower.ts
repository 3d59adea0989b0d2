import {
  type Delivery,
  type EndedTask,
  type EndsCursor,
  isAway,
  newId,
  type RunRow,
  type WebhookRow,
  type WebhookStore,
} from "../store/index.ts";
import { bodyOf, type Ended, eventTypeOf, MAX_RESULT_BYTES, wants } from "./events.ts";

export interface FollowerOptions {
  readonly store: WebhookStore;
  /** Those that are not disabled. */
  readonly active: () => readonly WebhookRow[];
  /** What is told of something that ended; with its result where it is asked for. */
  readonly describe: (ended: Ended, withResult: boolean) => unknown;
  readonly now: () => number;
  readonly onEnqueued: () => void;
  readonly warn: (message: string) => void;
}

const PAGE = 200;
/** Fewer at once where each may bring a large result. */
const PAGE_WITH_RESULTS = 50;
/** What ends together is read together. */
const GATHER_MS = 10;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

/**
 * Makes deliveries of what ended. It reads rows, which are committed with the events that change them, from a durable
 * cursor on; the cursor moves together with the deliveries that were made. So nothing is missed when the server is
 * killed, nothing is made twice, and a commit pays nothing for it.
 */
export class Follower implements AsyncDisposable {
  readonly #options: FollowerOptions;
  #pass: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #isClosed = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Something may have ended. */
  nudge(afterMs: number = GATHER_MS): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.follow().then(
        () => {
          this.#retryMs = FIRST_RETRY_MS;
        },
        (error: unknown) => {
          if (!isAway(error) && this.#retryMs === FIRST_RETRY_MS)
            this.#options.warn(`webhooks: what ended could not be read: ${(error as Error).message}`);
          this.nudge(this.#retryMs);
          this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS);
        },
      );
    }, afterMs);
  }

  /** Resolves when everything is followed that had ended before it was called. */
  follow(): Promise<void> {
    if (this.#isClosed || this.#options.active().length === 0) return Promise.resolve();
    // The pass under way may have looked already, so only the one after it will do.
    if (this.#pass) {
      this.#next ??= this.#pass.catch(() => {}).then(() => this.#begin());
      return this.#next;
    }
    return this.#begin();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await (this.#next ?? this.#pass)?.catch(() => {});
  }

  #begin(): Promise<void> {
    this.#next = undefined;
    this.#pass = this.#followAll().finally(() => {
      this.#pass = undefined;
    });
    return this.#pass;
  }

  async #followAll(): Promise<void> {
    const { store, active } = this.#options;
    let known = await store.cursor();
    for (;;) {
      const webhooks = active();
      if (webhooks.length === 0 || this.#isClosed) return;
      const from = startingAt(known, Math.min(...webhooks.map(({ since }) => since)));
      const zones = [...new Set(webhooks.map(({ zone }) => zone))];
      const withResults = webhooks.some(({ includeResult }) => includeResult);
      const limit = withResults ? PAGE_WITH_RESULTS : PAGE;
      const tasks = await store.endedTasks(from, zones, withResults ? MAX_RESULT_BYTES : -1, limit);
      // Runs after their tasks: a run has ended when the last of them has.
      const runs = tasks.length < limit ? await store.endedRuns(from, zones, limit) : [];
      if (tasks.length === 0 && runs.length === 0) return;
      const to = movedBy(from, tasks, runs);
      const deliveries = [
        ...tasks.flatMap((row) => this.#deliveriesOf({ kind: "task", row }, webhooks)),
        ...runs.flatMap((row) => this.#deliveriesOf({ kind: "run", row }, webhooks)),
      ];
      const isMoved = await store.enqueue(known, to, deliveries);
      if (isMoved && deliveries.length > 0) this.#options.onEnqueued();
      // Where it is not where it was: an answer got lost, or another server has taken over.
      known = isMoved ? to : await store.cursor();
    }
  }

  #deliveriesOf(ended: Ended, webhooks: readonly WebhookRow[]): Delivery[] {
    const type = eventTypeOf(ended);
    if (type === undefined) return [];
    const { describe, now } = this.#options;
    const bodies = new Map<boolean, string>();
    return webhooks
      .filter((webhook) => wants(webhook, type, ended))
      .map(({ id: webhookId, includeResult }) => {
        const { endedAt, id: subject } = ended.row;
        const body = bodies.get(includeResult) ?? bodyOf(type, endedAt, describe(ended, includeResult));
        bodies.set(includeResult, body);
        return { id: newDeliveryId(), webhookId, type, subject, body, createdAt: now() };
      });
  }
}

export function newDeliveryId(): string {
  return `msg_${newId()}`;
}

/** What ended before the first webhook was there need not be looked at. */
function startingAt(known: EndsCursor | undefined, since: number): EndsCursor {
  const { at, seq, id, runsAt, runIds } = known ?? NOWHERE;
  return { at: Math.max(at, since), seq, id, runsAt: Math.max(runsAt, since), runIds };
}

const NOWHERE: EndsCursor = { at: 0, seq: 0, id: "", runsAt: 0, runIds: [] };

function movedBy(from: EndsCursor, tasks: readonly EndedTask[], runs: readonly RunRow[]): EndsCursor {
  const task = tasks.at(-1);
  const { at, seq, id } = task ? { at: task.endedAt, seq: task.seq, id: task.id } : from;
  const runsAt = runs.at(-1)?.endedAt ?? from.runsAt;
  const ofThatMoment = runs.filter(({ endedAt }) => endedAt === runsAt).map((run) => run.id);
  const runIds = runsAt === from.runsAt ? [...from.runIds, ...ofThatMoment] : ofThatMoment;
  return { at, seq, id, runsAt, runIds };
}
