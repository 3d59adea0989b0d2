import type { RunRow, TaskLine } from "./rows.ts";

/** Where a zone's events are sent, and which of them. */
export interface WebhookRow {
  readonly id: string;
  readonly zone: string;
  readonly url: string;
  readonly description: string;
  readonly events: readonly string[];
  /** What events must be about; empty: anything. */
  readonly agents: readonly string[];
  readonly types: readonly string[];
  readonly executors: readonly string[];
  readonly includeResult: boolean;
  /** The newest first. */
  readonly secrets: readonly WebhookSecret[];
  readonly createdAt: number;
  /** Of the ledger's time: what ended before is not sent. */
  readonly since: number;
  /** -1: it is not disabled. */
  readonly disabledAt: number;
  readonly disabledReason: string;
  /** When it failed first after it last succeeded; -1: it does not fail. */
  readonly failingSince: number;
  /** Id of the key that made the webhook; "" if it belongs to no key. */
  readonly keyId: string;
}

/** Kept as it is, because it has to sign. */
export interface WebhookSecret {
  readonly secret: string;
  /** -1: never. */
  readonly expiresAt: number;
}

export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One event for one webhook. */
export interface Delivery {
  /** The same on every try; later ones sort behind. */
  readonly id: string;
  readonly webhookId: string;
  readonly type: string;
  /** The task or run that it is about. */
  readonly subject: string;
  /** JSON text. */
  readonly body: string;
  readonly createdAt: number;
}

/** How far a delivery has come. Written whole, the last one counts. */
export interface DeliveryProgress {
  readonly status: DeliveryStatus;
  /** Since it was made, or was asked for again. */
  readonly tries: number;
  /** When to try next; -1: never. */
  readonly nextAt: number;
  /** -1: not tried yet. */
  readonly triedAt: number;
  /** Of HTTP; 0: none. */
  readonly answered: number;
  readonly error: string;
}

export interface DeliveryRow extends Delivery, DeliveryProgress {}

/**
 * How far ends were followed. Tasks are read in the order of the events that ended them. A run's row does not name
 * that event, so runs are read by time, and those of the last moment are remembered.
 */
export interface EndsCursor {
  /** Ledger time of the last task's end, and its event and id. */
  readonly at: number;
  readonly seq: number;
  readonly id: string;
  readonly runsAt: number;
  readonly runIds: readonly string[];
}

export interface EndedTask extends TaskLine {
  /** JSON text; undefined: there is none, or it is larger than was asked for. */
  readonly result: string | undefined;
  readonly resultBytes: number;
}

/** Webhooks, and what is to be sent to them. Nothing here belongs to the ledger. */
export interface WebhookStore {
  webhooks(): Promise<readonly WebhookRow[]>;
  /** Adds a webhook, or replaces the one with the same id. */
  save(webhook: WebhookRow): Promise<void>;
  /** With its deliveries. */
  remove(id: string): Promise<void>;

  cursor(): Promise<EndsCursor | undefined>;
  /** Tasks of these zones that ended after the cursor, in that order. Larger results are left out. */
  endedTasks(
    after: EndsCursor,
    zones: readonly string[],
    maxResultBytes: number,
    limit: number,
  ): Promise<readonly EndedTask[]>;
  endedRuns(after: EndsCursor, zones: readonly string[], limit: number): Promise<readonly RunRow[]>;
  /** Moves the cursor and adds what is to be sent, both or nothing. False: it was not where it was thought to be. */
  enqueue(from: EndsCursor | undefined, to: EndsCursor, deliveries: readonly Delivery[]): Promise<boolean>;
  /** Adds what has nothing to do with the cursor. */
  addDelivery(delivery: Delivery): Promise<void>;

  /** What is due: for each webhook up to as many as there is room for, without those under way. */
  due(
    rooms: ReadonlyMap<string, number>,
    now: number,
    underWay: readonly string[],
  ): Promise<readonly DeliveryRow[]>;
  /** When the next of these webhooks is due after a time. */
  nextDue(webhookIds: readonly string[], after: number): Promise<number | undefined>;
  progress(changes: readonly { readonly id: string; readonly progress: DeliveryProgress }[]): Promise<void>;
  delivery(id: string): Promise<DeliveryRow | undefined>;
  /** Newest first, before an id. */
  deliveries(webhookId: string, before: string | undefined, limit: number): Promise<readonly DeliveryRow[]>;
  /** Drops deliveries that were made until a time. */
  prune(until: number): Promise<void>;
}
