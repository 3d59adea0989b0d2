import { type DeliveryRow, isAway, newId, type WebhookRow, type WebhookStore } from "../store/index.ts";
import { AddressRules } from "./addresses.ts";
import { Deliverer, GONE, isSuccess } from "./deliverer.ts";
import { bodyOf, type Ended, type EventType, isActive, TEST_EVENT } from "./events.ts";
import { Follower, newDeliveryId } from "./follower.ts";
import { STANDARD_WAITS_MS } from "./schedule.ts";
import { type Outcome, send } from "./sender.ts";
import { newSecret } from "./signature.ts";
import {
  addressesOf,
  NO_ANSWER,
  type Resolve,
  readTarget,
  resolveByDns,
  type TargetRefusal,
  type TargetRules,
} from "./target.ts";

export interface WebhookSettings {
  /** Plain http:// too. */
  readonly allowHttp: boolean;
  /** Networks that are not public and may be sent to, such as 10.0.0.0/8. */
  readonly allow: readonly string[];
  readonly resolve: Resolve;
  /** Before the second try, the third, and so on. */
  readonly waitsMs: readonly number[];
  readonly timeoutMs: number;
  /** One that fails for this long is disabled. */
  readonly disableAfterMs: number;
}

const DAY_MS = 86_400_000;

export const STANDARD_SETTINGS: WebhookSettings = {
  allowHttp: false,
  allow: [],
  resolve: resolveByDns,
  waitsMs: STANDARD_WAITS_MS,
  timeoutMs: 15_000,
  disableAfterMs: 5 * DAY_MS,
};

/** How long deliveries can be looked at; longer than the last try takes. */
const KEPT_MS = 14 * DAY_MS;
export const MAX_PER_ZONE = 100;
/** A server that led before may have changed a webhook in its last moments, after we looked. */
const LOOK_AGAIN_MS = 2_000;

export interface OpenWebhooksOptions {
  readonly store: WebhookStore;
  readonly settings?: Partial<WebhookSettings> | undefined;
  readonly describe: (ended: Ended, withResult: boolean) => unknown;
  /** The time of day by the scheduler's clock. */
  readonly now: () => number;
  /** Tells why everything stands still that a key made; undefined if it goes on. */
  readonly whyEnded: (keyId: string) => string | undefined;
  readonly warn: (message: string) => void;
}

export interface NewWebhook {
  readonly url: string;
  readonly description: string;
  readonly events: readonly EventType[];
  readonly agents: readonly string[];
  readonly types: readonly string[];
  readonly executors: readonly string[];
  readonly includeResult: boolean;
}

export interface WebhookMaker {
  readonly zone: string;
  /** Id of the key, which the webhook ends with. */
  readonly keyId: string;
}

/** With the secret, which is told this once. */
export interface MadeWebhook {
  readonly webhook: WebhookRow;
  readonly secret: string;
}

/** A zone's webhooks, held in memory so that a commit in a zone without one costs nothing. */
export class Webhooks implements AsyncDisposable {
  readonly #options: OpenWebhooksOptions;
  readonly #settings: WebhookSettings;
  readonly #rules: TargetRules;
  readonly #all = new Map<string, WebhookRow>();
  #zones: ReadonlySet<string> = new Set();
  readonly #follower: Follower;
  readonly #deliverer: Deliverer;
  /** Changes are stored one after the other, in the order in which they were made. */
  #last: Promise<unknown> = Promise.resolve();
  #changes = 0;
  #isClosed = false;
  #lookingAgain: NodeJS.Timeout | undefined;

  static async open(options: OpenWebhooksOptions): Promise<Webhooks> {
    const webhooks = new Webhooks(options, await options.store.webhooks());
    webhooks.#follower.nudge();
    webhooks.#deliverer.nudge();
    webhooks.#lookingAgain = setInterval(() => void webhooks.#lookAgain(), LOOK_AGAIN_MS).unref();
    return webhooks;
  }

  private constructor(options: OpenWebhooksOptions, rows: readonly WebhookRow[]) {
    this.#options = options;
    this.#settings = { ...STANDARD_SETTINGS, ...options.settings };
    const { allowHttp, allow, resolve, waitsMs, timeoutMs } = this.#settings;
    this.#rules = { allowHttp, resolve, addresses: new AddressRules(allow) };
    for (const row of rows) this.#all.set(row.id, row);
    this.#findZones();
    const { store, describe, now, warn, whyEnded } = options;
    const active = () =>
      [...this.#all.values()].filter((one) => isActive(one) && whyEnded(one.keyId) === undefined);
    const onEnqueued = () => this.#deliverer.nudge();
    this.#follower = new Follower({ store, active, describe, now, warn, onEnqueued });
    this.#deliverer = new Deliverer({
      store,
      active,
      now,
      warn,
      waitsMs,
      send: (message, stopped) => send(message, this.#rules, timeoutMs, stopped),
      onOutcome: (id, outcome) => this.#noteOutcome(id, outcome),
    });
  }

  /** Something ended in a zone. */
  noteEnd(zone: string): void {
    if (this.#zones.has(zone)) this.#follower.nudge();
  }

  get isIdle(): boolean {
    return this.#zones.size === 0;
  }

  /** Resolves when what ended so far is on its way: from then on it may be forgotten, or begin anew. */
  follow(): Promise<void> {
    return this.#follower.follow();
  }

  async prune(): Promise<void> {
    await this.#options.store.prune(this.#options.now() - KEPT_MS);
  }

  all(): readonly WebhookRow[] {
    return [...this.#all.values()];
  }

  /** The key of a webhook has ended, or was handed over. */
  noteKeys(): void {
    this.#follower.nudge();
    this.#deliverer.nudge();
  }

  /** Why nothing is sent to a webhook, although it is not disabled. */
  suspendedReason({ keyId }: WebhookRow): string | undefined {
    return this.#options.whyEnded(keyId);
  }

  of(zone: string): readonly WebhookRow[] {
    return [...this.#all.values()].filter((webhook) => webhook.zone === zone);
  }

  find(zone: string, id: string): WebhookRow | undefined {
    const webhook = this.#all.get(id);
    return webhook?.zone === zone ? webhook : undefined;
  }

  /** Undefined: it may be sent to, as far as can be told now. It is looked at again before each try. */
  async problemWith(text: string): Promise<string | undefined> {
    const url = readTarget(text, this.#rules);
    if ("refusal" in url) return url.refusal;
    const found: readonly string[] | TargetRefusal = await addressesOf(url, this.#rules);
    return "refusal" in found && found !== NO_ANSWER ? found.refusal : undefined;
  }

  async create({ zone, keyId }: WebhookMaker, asked: NewWebhook): Promise<MadeWebhook> {
    const secret = newSecret();
    const webhook: WebhookRow = {
      ...asked,
      id: `wh_${newId()}`,
      zone,
      secrets: [{ secret, expiresAt: -1 }],
      createdAt: this.#options.now(),
      since: this.#options.now(),
      disabledAt: -1,
      disabledReason: "",
      failingSince: -1,
      keyId,
    };
    await this.#inTurn(() => this.#keep(webhook));
    return { webhook, secret };
  }

  /** Enabled again, it gets what ends from then on, and what was still to be tried. */
  async update(
    { id }: WebhookRow,
    changes: Partial<NewWebhook>,
    enabled: boolean | undefined,
  ): Promise<WebhookRow | undefined> {
    const { now } = this.#options;
    const changed = await this.#change(id, (webhook) => {
      const next = { ...webhook, ...changes };
      if (enabled === false && isActive(webhook)) return disabled(next, now(), "an admin disabled it");
      if (enabled !== true || isActive(webhook)) return next;
      return { ...next, disabledAt: -1, disabledReason: "", failingSince: -1, since: now() };
    });
    this.#deliverer.nudge();
    return changed;
  }

  /** Skips what ended so far, before a webhook that stood still goes on. */
  async skipMissed({ id }: WebhookRow): Promise<void> {
    await this.#change(id, (webhook) => ({ ...webhook, since: this.#options.now() }));
  }

  async remove({ id }: WebhookRow): Promise<void> {
    await this.#inTurn(async () => {
      await this.#options.store.remove(id);
      this.#all.delete(id);
      this.#findZones();
    });
  }

  /** A new secret. The old ones sign too, until the overlap is over. */
  async rotate({ id }: WebhookRow, overlapMs: number): Promise<MadeWebhook | undefined> {
    const secret = newSecret();
    const webhook = await this.#change(id, (row) => {
      const now = this.#options.now();
      const old = row.secrets
        .map(({ secret: one, expiresAt }) => ({
          secret: one,
          expiresAt: expiresAt === -1 ? now + overlapMs : Math.min(expiresAt, now + overlapMs),
        }))
        .filter(({ expiresAt }) => expiresAt > now)
        .slice(0, MAX_OLD_SECRETS);
      return { ...row, secrets: [{ secret, expiresAt: -1 }, ...old] };
    });
    return webhook && { webhook, secret };
  }

  /** Sends an event that means nothing. */
  async test(webhook: WebhookRow): Promise<DeliveryRow> {
    const { store, now } = this.#options;
    const id = newDeliveryId();
    const createdAt = now();
    const body = bodyOf(TEST_EVENT, createdAt, { webhook_id: webhook.id, zone: webhook.zone });
    const { id: webhookId } = webhook;
    await store.addDelivery({ id, webhookId, type: TEST_EVENT, subject: webhookId, body, createdAt });
    this.#deliverer.nudge();
    return (await store.delivery(id)) as DeliveryRow;
  }

  async delivery(webhook: WebhookRow, id: string): Promise<DeliveryRow | undefined> {
    const delivery = await this.#options.store.delivery(id);
    return delivery?.webhookId === webhook.id ? delivery : undefined;
  }

  deliveries(
    webhook: WebhookRow,
    before: string | undefined,
    limit: number,
  ): Promise<readonly DeliveryRow[]> {
    return this.#options.store.deliveries(webhook.id, before, limit);
  }

  /** Once more, under the same id, with all the tries of a new one. */
  async redeliver(delivery: DeliveryRow): Promise<DeliveryRow> {
    const { store, now } = this.#options;
    const { triedAt, answered, error } = delivery;
    const progress = { status: "pending", tries: 0, nextAt: now(), triedAt, answered, error } as const;
    await store.progress([{ id: delivery.id, progress }]);
    this.#deliverer.nudge();
    return { ...delivery, ...progress };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#lookingAgain);
    await this.#follower[Symbol.asyncDispose]();
    await this.#deliverer[Symbol.asyncDispose]();
    await this.#last;
  }

  #noteOutcome(id: string, outcome: Outcome): void {
    const { now, warn } = this.#options;
    const next = (webhook: WebhookRow) =>
      afterOutcome(webhook, outcome, now(), this.#settings.disableAfterMs);
    const webhook = this.#all.get(id);
    if (!webhook || next(webhook) === webhook) return;
    this.#change(id, next).catch((error: unknown) =>
      warn(`webhooks: ${id} could not be saved: ${(error as Error).message}`),
    );
  }

  /** Undefined: it was removed meanwhile. */
  async #change(id: string, change: (webhook: WebhookRow) => WebhookRow): Promise<WebhookRow | undefined> {
    let changed: WebhookRow | undefined;
    await this.#inTurn(async () => {
      const webhook = this.#all.get(id);
      changed = webhook && change(webhook);
      if (changed && changed !== webhook) await this.#keep(changed);
    });
    return changed;
  }

  async #keep(webhook: WebhookRow): Promise<void> {
    await this.#options.store.save(webhook);
    this.#all.set(webhook.id, webhook);
    this.#findZones();
  }

  /** Learns what others have changed; next time, where something is being changed here. */
  async #lookAgain(): Promise<void> {
    const changes = this.#changes;
    await this.#last;
    try {
      const rows = await this.#options.store.webhooks();
      if (this.#isClosed || this.#changes !== changes) return;
      this.#all.clear();
      for (const row of rows) this.#all.set(row.id, row);
      this.#findZones();
    } catch (error) {
      if (!this.#isClosed && !isAway(error))
        this.#options.warn(`webhooks could not be read: ${(error as Error).message}`);
    }
  }

  #findZones(): void {
    this.#zones = new Set([...this.#all.values()].filter(isActive).map(({ zone }) => zone));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#changes++;
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}

/** More than the newest and these, and the header of a delivery would grow without end. */
const MAX_OLD_SECRETS = 4;

function afterOutcome(
  webhook: WebhookRow,
  outcome: Outcome,
  now: number,
  disableAfterMs: number,
): WebhookRow {
  const { failingSince } = webhook;
  if (!isActive(webhook)) return webhook;
  if (isSuccess(outcome)) return failingSince === -1 ? webhook : { ...webhook, failingSince: -1 };
  if ("status" in outcome && outcome.status === GONE)
    return disabled(webhook, now, "it answered 410: it wants nothing more");
  if (failingSince === -1) return { ...webhook, failingSince: now };
  if (now - failingSince < disableAfterMs) return webhook;
  return disabled(webhook, now, `it failed since ${new Date(failingSince).toISOString()}`);
}

function disabled(webhook: WebhookRow, now: number, reason: string): WebhookRow {
  return { ...webhook, disabledAt: now, disabledReason: reason };
}
