import { compareText } from "../core/index.ts";
import type { MemoryRows } from "./memory-rows.ts";
import type { RunRow } from "./rows.ts";
import type {
  Delivery,
  DeliveryProgress,
  DeliveryRow,
  EndedTask,
  EndsCursor,
  WebhookRow,
  WebhookStore,
} from "./webhook-rows.ts";

/** The webhooks of a memory store. What ended and is no longer kept cannot be followed. */
export class MemoryWebhooks implements WebhookStore {
  readonly #rows: MemoryRows;
  readonly #webhooks = new Map<string, WebhookRow>();
  readonly #deliveries = new Map<string, DeliveryRow>();
  #cursor: EndsCursor | undefined;

  constructor(rows: MemoryRows) {
    this.#rows = rows;
  }

  async webhooks(): Promise<readonly WebhookRow[]> {
    return [...this.#webhooks.values()];
  }

  async save(webhook: WebhookRow): Promise<void> {
    this.#webhooks.set(webhook.id, webhook);
  }

  async remove(id: string): Promise<void> {
    this.#webhooks.delete(id);
    for (const { id: delivery, webhookId } of [...this.#deliveries.values()])
      if (webhookId === id) this.#deliveries.delete(delivery);
  }

  async cursor(): Promise<EndsCursor | undefined> {
    return this.#cursor;
  }

  async endedTasks(
    after: EndsCursor,
    zones: readonly string[],
    maxResultBytes: number,
    limit: number,
  ): Promise<readonly EndedTask[]> {
    return this.#rows
      .endedAfter(after)
      .filter(({ zone }) => zones.includes(zone))
      .slice(0, limit)
      .map(({ payload: _payload, settings: _settings, result, ...line }) => {
        const resultBytes = Buffer.byteLength(result ?? "");
        return { ...line, result: resultBytes <= maxResultBytes ? result : undefined, resultBytes };
      });
  }

  async endedRuns(after: EndsCursor, zones: readonly string[], limit: number): Promise<readonly RunRow[]> {
    return this.#rows
      .runsEndedFrom(after.runsAt)
      .filter(({ id, zone }) => zones.includes(zone) && !after.runIds.includes(id))
      .sort((a, b) => a.endedAt - b.endedAt || compareText(a.id, b.id))
      .slice(0, limit);
  }

  async enqueue(
    from: EndsCursor | undefined,
    to: EndsCursor,
    deliveries: readonly Delivery[],
  ): Promise<boolean> {
    if (JSON.stringify(this.#cursor) !== JSON.stringify(from)) return false;
    this.#cursor = to;
    for (const delivery of deliveries) await this.addDelivery(delivery);
    return true;
  }

  async addDelivery(delivery: Delivery): Promise<void> {
    const progress = { tries: 0, nextAt: delivery.createdAt, triedAt: -1, answered: 0, error: "" };
    this.#deliveries.set(delivery.id, { ...delivery, ...progress, status: "pending" });
  }

  async due(
    rooms: ReadonlyMap<string, number>,
    now: number,
    underWay: readonly string[],
  ): Promise<readonly DeliveryRow[]> {
    const left = new Map(rooms);
    const due = this.#pending().filter(({ id, nextAt }) => nextAt <= now && !underWay.includes(id));
    return due.filter(({ webhookId }) => {
      const room = left.get(webhookId) ?? 0;
      left.set(webhookId, room - 1);
      return room > 0;
    });
  }

  async nextDue(webhookIds: readonly string[], after: number): Promise<number | undefined> {
    return this.#pending().find(({ webhookId, nextAt }) => nextAt > after && webhookIds.includes(webhookId))
      ?.nextAt;
  }

  async progress(
    changes: readonly { readonly id: string; readonly progress: DeliveryProgress }[],
  ): Promise<void> {
    for (const { id, progress } of changes) {
      const delivery = this.#deliveries.get(id);
      if (delivery) this.#deliveries.set(id, { ...delivery, ...progress });
    }
  }

  async delivery(id: string): Promise<DeliveryRow | undefined> {
    return this.#deliveries.get(id);
  }

  async deliveries(
    webhookId: string,
    before: string | undefined,
    limit: number,
  ): Promise<readonly DeliveryRow[]> {
    return [...this.#deliveries.values()]
      .filter(({ id, webhookId: of }) => of === webhookId && (before === undefined || id < before))
      .sort((a, b) => compareText(b.id, a.id))
      .slice(0, limit);
  }

  async prune(until: number): Promise<void> {
    for (const { id, createdAt } of [...this.#deliveries.values()])
      if (createdAt <= until) this.#deliveries.delete(id);
  }

  #pending(): DeliveryRow[] {
    return [...this.#deliveries.values()]
      .filter(({ nextAt }) => nextAt >= 0)
      .sort((a, b) => a.nextAt - b.nextAt || compareText(a.id, b.id));
  }
}
