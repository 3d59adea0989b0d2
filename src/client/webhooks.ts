import type {
  DeliveriesAnswer,
  DeliveryAnswer,
  NewWebhookAnswer,
  SecretRotation,
  WebhookAnswer,
  WebhookBody,
  WebhookChange,
  WebhookRemoved,
  WebhooksAnswer,
} from "../protocol/api-schemas.ts";
import { type CallOptions, get, patch, path, post, remove, repeatablePost } from "./calls.ts";
import type { Connection } from "./connection.ts";

/** Where the zone's events are sent, for admins. A secret is shown once, when it is made. */
export class Webhooks {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async list(options: CallOptions = {}): Promise<WebhookAnswer[]> {
    const { webhooks } = await this.#connection.send<WebhooksAnswer>(get("webhooks", options));
    return webhooks;
  }

  create(webhook: WebhookBody, options: CallOptions = {}): Promise<NewWebhookAnswer> {
    return this.#connection.send(post("webhooks", webhook, options));
  }

  show(id: string, options: CallOptions = {}): Promise<WebhookAnswer> {
    return this.#connection.send(get(path`webhooks/${id}`, options));
  }

  /** What is left out stays as it is. */
  update(id: string, change: WebhookChange, options: CallOptions = {}): Promise<WebhookAnswer> {
    return this.#connection.send(patch(path`webhooks/${id}`, change, options));
  }

  remove(id: string, options: CallOptions = {}): Promise<WebhookRemoved> {
    return this.#connection.send(remove(path`webhooks/${id}`, options));
  }

  /** A new secret; the old one signs too for the overlap. */
  rotate(id: string, body: SecretRotation = {}, options: CallOptions = {}): Promise<NewWebhookAnswer> {
    return this.#connection.send(post(path`webhooks/${id}/rotate`, body, options));
  }

  /** Sends an event that means nothing. */
  test(id: string, options: CallOptions = {}): Promise<DeliveryAnswer> {
    return this.#connection.send(post(path`webhooks/${id}/test`, undefined, options));
  }

  /** Newest first. */
  async *deliveries(
    id: string,
    { pageSize, signal }: CallOptions & { readonly pageSize?: number | undefined } = {},
  ): AsyncGenerator<DeliveryAnswer, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const page = await this.#connection.send<DeliveriesAnswer>(
        get(path`webhooks/${id}/deliveries`, { signal }, { limit: pageSize, cursor }),
      );
      yield* page.deliveries;
      cursor = page.next;
    } while (cursor !== null);
  }

  delivery(id: string, delivery: string, options: CallOptions = {}): Promise<DeliveryAnswer> {
    return this.#connection.send(get(path`webhooks/${id}/deliveries/${delivery}`, options));
  }

  /** Sends it once more, under the same id. */
  redeliver(id: string, delivery: string, options: CallOptions = {}): Promise<DeliveryAnswer> {
    return this.#connection.send(
      repeatablePost(path`webhooks/${id}/deliveries/${delivery}/redeliver`, undefined, options),
    );
  }
}
