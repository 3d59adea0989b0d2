import { setTimeout as sleep } from "node:timers/promises";
import type { DeliveryAnswer, NewWebhookAnswer, WebhookAnswer, WebhookChange } from "../client/index.ts";
import { CheckFailed } from "./errors.ts";
import { type Column, fieldLines, tableLines } from "./layout.ts";
import { printLines, stdoutColumns, stdoutPalette } from "./output.ts";
import { atService } from "./service.ts";
import type { ServiceOptions } from "./service-options.ts";
import { ago, printSafeJson, shown } from "./service-text.ts";
import type {
  DeliveriesOptions,
  RotateSecretOptions,
  UpdateWebhookOptions,
  WebhookOptions,
} from "./webhooks.ts";

const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "URL" },
  { title: "EVENTS" },
  { title: "STATE" },
];
const DELIVERY_COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "EVENT" },
  { title: "ABOUT" },
  { title: "STATUS" },
  { title: "TRIES", align: "right" },
  { title: "MADE", align: "right" },
  { title: "ANSWER" },
];
/** A little more than a try may take. */
const TEST_FOR_MS = 20_000;
const LOOK_EVERY_MS = 200;

export async function createWebhook(url: string, options: WebhookOptions): Promise<void> {
  const made = await atService(options, (client) => client.webhooks.create({ url, ...changeOf(options) }));
  await printSecret(made, options.json);
}

export async function listWebhooks(options: ServiceOptions): Promise<void> {
  const webhooks = await atService(options, (client) => client.webhooks.list());
  if (options.json) await printSafeJson({ webhooks });
  else if (webhooks.length === 0) process.stderr.write("no webhooks\n");
  else await printLines(tableLines(COLUMNS, webhooks.map(row), stdoutPalette()));
}

export async function showWebhook(id: string, options: ServiceOptions): Promise<void> {
  await printWebhook(await atService(options, (client) => client.webhooks.show(id)), options.json);
}

export async function updateWebhook(id: string, options: UpdateWebhookOptions): Promise<void> {
  const { url, enable, disable } = options;
  const change: WebhookChange = {
    ...changeOf(options),
    ...(url !== undefined && { url }),
    ...(enable && { enabled: true }),
    ...(disable && { enabled: false }),
  };
  await printWebhook(await atService(options, (client) => client.webhooks.update(id, change)), options.json);
}

export async function removeWebhook(id: string, options: ServiceOptions): Promise<void> {
  const answer = await atService(options, (client) => client.webhooks.remove(id));
  await (options.json ? printSafeJson(answer) : printLines([`${shown(answer.id)} removed`]));
}

export async function rotateSecret(id: string, options: RotateSecretOptions): Promise<void> {
  const { overlap } = options;
  const body = overlap === undefined ? {} : { overlap_seconds: overlap };
  await printSecret(await atService(options, (client) => client.webhooks.rotate(id, body)), options.json);
}

export async function testWebhook(id: string, options: ServiceOptions): Promise<void> {
  const delivery = await atService(options, async ({ webhooks }) => {
    let seen = await webhooks.test(id);
    for (let waitedMs = 0; seen.tries === 0 && waitedMs < TEST_FOR_MS; waitedMs += LOOK_EVERY_MS) {
      await sleep(LOOK_EVERY_MS);
      seen = await webhooks.delivery(id, seen.id);
    }
    return seen;
  });
  if (options.json) await printSafeJson(delivery);
  else await printLines([`${shown(delivery.id)} ${outcomeOf(delivery)}`]);
  if (delivery.status !== "delivered") throw new CheckFailed(options.json ? "" : "the test was not taken");
}

export async function listDeliveries(id: string, options: DeliveriesOptions): Promise<void> {
  const { limit } = options;
  const deliveries = await atService(options, async (client) => {
    const found: DeliveryAnswer[] = [];
    for await (const one of client.webhooks.deliveries(id, { pageSize: limit })) {
      found.push(one);
      if (found.length === limit) break;
    }
    return found;
  });
  if (options.json) await printSafeJson({ deliveries });
  else if (deliveries.length === 0) process.stderr.write("no deliveries\n");
  else await printLines(tableLines(DELIVERY_COLUMNS, deliveries.map(deliveryRow), stdoutPalette()));
}

export async function redeliver(id: string, delivery: string, options: ServiceOptions): Promise<void> {
  const answer = await atService(options, (client) => client.webhooks.redeliver(id, delivery));
  await (options.json ? printSafeJson(answer) : printLines([`${shown(answer.id)} is sent once more`]));
}

function changeOf(options: WebhookOptions): Omit<WebhookChange, "url" | "enabled"> {
  const { description, event, forAgent, type, executor, includeResult } = options;
  return {
    ...(description !== undefined && { description }),
    ...(event && { events: [...event] }),
    ...(forAgent && { agents: [...forAgent] }),
    ...(type && { task_types: [...type] }),
    ...(executor && { executors: [...executor] }),
    ...(includeResult !== undefined && { include_result: includeResult }),
  };
}

/** The secret alone goes to stdout, so that it can be put where it belongs without being seen. */
async function printSecret(webhook: NewWebhookAnswer, json: boolean): Promise<void> {
  if (json) return await printSafeJson(webhook);
  process.stderr.write(
    `webhook ${shown(webhook.id)} to ${shown(webhook.url)}; its secret is shown this once:\n`,
  );
  await printLines([shown(webhook.secret)]);
}

async function printWebhook(webhook: WebhookAnswer, json: boolean): Promise<void> {
  if (json) return await printSafeJson(webhook);
  const { agents, task_types, executors } = webhook;
  const fields: [name: string, value: string][] = [
    ["url", shown(webhook.url)],
    ["for", shown(webhook.description)],
    ["zone", shown(webhook.zone)],
    ["events", shown(webhook.events.join(", "))],
    ["agents", shown(agents.join(", "))],
    ["types", shown(task_types.join(", "))],
    ["executors", shown(executors.join(", "))],
    ["results", webhook.include_result ? "up to 64 KiB" : "hash and size"],
    ["key", shown(webhook.key_id)],
    ["made", ago(webhook.created_at)],
    ["state", stateOf(webhook)],
  ];
  const lines = fieldLines(
    fields.filter(([, value]) => value !== ""),
    stdoutPalette(),
    stdoutColumns(),
  );
  await printLines([shown(webhook.id), ...lines]);
}

function row(webhook: WebhookAnswer): string[] {
  return [shown(webhook.id), shown(webhook.url), shown(webhook.events.join(", ")), stateOf(webhook)];
}

function stateOf({ enabled, disabled_reason, failing_since, suspended_reason }: WebhookAnswer): string {
  if (!enabled) return `disabled: ${shown(disabled_reason)}`;
  if (suspended_reason !== null) return `stands still: ${shown(suspended_reason)}`;
  return failing_since === null ? "ok" : `failing, since ${ago(failing_since)}`;
}

function deliveryRow(delivery: DeliveryAnswer): string[] {
  const { id, type, subject, status, tries, created_at } = delivery;
  return [
    shown(id),
    shown(type),
    shown(subject),
    status,
    String(tries),
    ago(created_at),
    outcomeOf(delivery),
  ];
}

function outcomeOf({ status, answered, error, tries }: DeliveryAnswer): string {
  if (tries === 0) return "not tried yet";
  return status === "delivered" ? `answered ${answered}` : shown(error);
}
