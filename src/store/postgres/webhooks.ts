import type { RunRow } from "../rows.ts";
import {
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryProgress,
  type DeliveryRow,
  type EndedTask,
  type EndsCursor,
  type WebhookRow,
  type WebhookSecret,
  type WebhookStore,
} from "../webhook-rows.ts";
import { arraysOf, type TaskRecord, taskFrom } from "./parameters.ts";
import type { Reader } from "./reader.ts";
import { type RunRecord, runFrom } from "./records.ts";

interface WebhookRecord {
  readonly id: string;
  readonly zone: string;
  readonly url: string;
  readonly description: string;
  readonly events: readonly string[];
  readonly agents: readonly string[];
  readonly types: readonly string[];
  readonly executors: readonly string[];
  readonly include_result: boolean;
  readonly secrets: string;
  readonly created_at: number;
  readonly since: number;
  readonly disabled_at: number;
  readonly disabled_reason: string;
  readonly failing_since: number;
  readonly key_id: string;
}

interface DeliveryRecord {
  readonly id: string;
  readonly webhook_id: string;
  readonly type: string;
  readonly subject: string;
  readonly body: string;
  readonly created_at: number;
  readonly status: number;
  readonly tries: number;
  readonly next_at: number;
  readonly tried_at: number;
  readonly answered: number;
  readonly error: string;
}

const PRUNE_BATCH = 1_000;

/** The webhooks of a store in PostgreSQL. */
export class PostgresWebhooks implements WebhookStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async webhooks(): Promise<readonly WebhookRow[]> {
    return (await this.#reader.rows<WebhookRecord>("webhooks", [])).map(webhookFrom);
  }

  async save(row: WebhookRow): Promise<void> {
    const { id, zone, url, description, events, agents, types, executors, includeResult } = row;
    const { createdAt, since, disabledAt, disabledReason, failingSince, keyId } = row;
    const filter = [events, agents, types, executors, includeResult];
    const state = [createdAt, since, disabledAt, disabledReason, failingSince, keyId];
    const secrets = JSON.stringify(row.secrets);
    await this.#reader.rows("save-webhook", [id, zone, url, description, ...filter, secrets, ...state]);
  }

  async remove(id: string): Promise<void> {
    await this.#reader.rows("remove-webhook", [id]);
  }

  async cursor(): Promise<EndsCursor | undefined> {
    const [row] = await this.#reader.rows<{ value: string }>("webhook-cursor", []);
    return row && row.value !== "" ? (JSON.parse(row.value) as EndsCursor) : undefined;
  }

  async endedTasks(
    { at, seq, id }: EndsCursor,
    zones: readonly string[],
    maxResultBytes: number,
    limit: number,
  ): Promise<readonly EndedTask[]> {
    const values = [at, seq, id, zones, maxResultBytes, limit];
    return (await this.#reader.rows<TaskRecord>("webhook-ended-tasks", values)).map(endedFrom);
  }

  async endedRuns(
    { runsAt, runIds }: EndsCursor,
    zones: readonly string[],
    limit: number,
  ): Promise<readonly RunRow[]> {
    const values = [runsAt, zones, runIds, limit];
    return (await this.#reader.rows<RunRecord>("webhook-ended-runs", values)).map(runFrom);
  }

  async enqueue(
    from: EndsCursor | undefined,
    to: EndsCursor,
    deliveries: readonly Delivery[],
  ): Promise<boolean> {
    const columns = arraysOf(deliveries, [
      ({ id }) => id,
      ({ webhookId }) => webhookId,
      ({ type }) => type,
      ({ subject }) => subject,
      ({ body }) => body,
      ({ createdAt }) => createdAt,
    ]);
    const values = [from ? JSON.stringify(from) : "", JSON.stringify(to), ...columns];
    return (await this.#reader.rows("webhook-enqueue", values)).length > 0;
  }

  async addDelivery({ id, webhookId, type, subject, body, createdAt }: Delivery): Promise<void> {
    await this.#reader.rows("webhook-add-delivery", [id, webhookId, type, subject, body, createdAt]);
  }

  async due(
    rooms: ReadonlyMap<string, number>,
    now: number,
    underWay: readonly string[],
  ): Promise<readonly DeliveryRow[]> {
    const values = [[...rooms.keys()], [...rooms.values()], now, underWay];
    return (await this.#reader.rows<DeliveryRecord>("webhook-due", values)).map(deliveryFrom);
  }

  async nextDue(webhookIds: readonly string[], after: number): Promise<number | undefined> {
    const values = [webhookIds, after];
    const [row] = await this.#reader.rows<{ next_at: number | null }>("webhook-next-due", values);
    return row?.next_at ?? undefined;
  }

  async progress(
    changes: readonly { readonly id: string; readonly progress: DeliveryProgress }[],
  ): Promise<void> {
    const columns = arraysOf(changes, [
      ({ id }) => id,
      ({ progress }) => DELIVERY_STATUSES.indexOf(progress.status),
      ({ progress }) => progress.tries,
      ({ progress }) => progress.nextAt,
      ({ progress }) => progress.triedAt,
      ({ progress }) => progress.answered,
      ({ progress }) => progress.error,
    ]);
    await this.#reader.rows("webhook-progress", columns);
  }

  async delivery(id: string): Promise<DeliveryRow | undefined> {
    const [record] = await this.#reader.rows<DeliveryRecord>("webhook-delivery", [id]);
    return record && deliveryFrom(record);
  }

  async deliveries(
    webhookId: string,
    before: string | undefined,
    limit: number,
  ): Promise<readonly DeliveryRow[]> {
    const values = [webhookId, before, limit];
    return (await this.#reader.rows<DeliveryRecord>("webhook-deliveries", values)).map(deliveryFrom);
  }

  /** In batches, so that no statement holds others up for long. */
  async prune(until: number): Promise<void> {
    for (;;) {
      const [row] = await this.#reader.rows<{ count: number }>("webhook-prune", [until, PRUNE_BATCH]);
      if ((row?.count ?? 0) < PRUNE_BATCH) return;
    }
  }
}

function webhookFrom(record: WebhookRecord): WebhookRow {
  const { include_result, created_at, disabled_at, disabled_reason, failing_since, ...named } = record;
  const { key_id: keyId, secrets, ...rest } = named;
  const known = secretsIn(secrets);
  return {
    ...rest,
    includeResult: include_result,
    secrets: known ?? [],
    createdAt: created_at,
    disabledAt: known ? disabled_at : Math.max(disabled_at, created_at),
    disabledReason: known ? disabled_reason : UNREADABLE,
    failingSince: failing_since,
    keyId,
  };
}

const UNREADABLE = "its secrets in the store cannot be read; delete it, and make it anew";

/** One row that is not as it was written must not stop the start of a server. */
function secretsIn(text: string): WebhookSecret[] | undefined {
  try {
    const secrets: unknown = JSON.parse(text);
    return Array.isArray(secrets) ? (secrets as WebhookSecret[]) : undefined;
  } catch {
    return undefined;
  }
}

function deliveryFrom(record: DeliveryRecord): DeliveryRow {
  const { webhook_id, created_at, status, next_at, tried_at, ...rest } = record;
  return {
    ...rest,
    webhookId: webhook_id,
    createdAt: created_at,
    status: DELIVERY_STATUSES[status] ?? "failed",
    nextAt: next_at,
    triedAt: tried_at,
  };
}

function endedFrom(record: TaskRecord): EndedTask {
  const { payload: _payload, settings: _settings, ...line } = taskFrom(record);
  return { ...line, resultBytes: record["result_bytes"] as number };
}
