import { Type } from "typebox";
import {
  DeliveriesAnswer,
  DeliveryAnswer,
  NewWebhookAnswer,
  SecretRotation,
  WEBHOOK_EVENTS,
  WebhookAnswer,
  WebhookBody,
  WebhookChange,
  WebhookRemoved,
  WebhooksAnswer,
} from "../../protocol/api-schemas.ts";
import type { DeliveryRow, WebhookRow } from "../../store/index.ts";
import { MAX_PER_ZONE, type NewWebhook } from "../../webhooks/index.ts";
import { callerOf } from "./auth.ts";
import { emptyIfMissing } from "./body-parsers.ts";
import { instantOrNull, instantText } from "./instants.ts";
import { invalid, Problem } from "./problems.ts";
import { type App, answers, type Edge, isName, notFound, PageLimit, PathId } from "./route.ts";

const admin = { config: { scopes: ["admin"] } } as const;
const adminWithoutBody = { config: { scopes: ["admin"], ignoresBody: true } } as const;
const tags = ["webhooks"];
const WebhookId = PathId("id", "A webhook's id.");
const DeliveryId = Type.Object({
  id: Type.String({ description: "A webhook's id." }),
  delivery: Type.String({ description: "A delivery's id." }),
});
const DEFAULT_OVERLAP_S = 86_400;

/** Where a zone's events are sent, for its admins. */
export function webhookRoutes(app: App, edge: Edge): void {
  const { webhooks } = edge;

  app.get(
    "/webhooks",
    { ...admin, schema: { summary: "List webhooks", tags, response: answers({ 200: WebhooksAnswer }) } },
    async (request) => ({ webhooks: webhooks.of(callerOf(request).zone).map((row) => answerOf(edge, row)) }),
  );

  app.post(
    "/webhooks",
    {
      config: { ...admin.config, audit: "webhook.create" },
      schema: {
        summary: "Have events sent to a URL",
        description: "Signed as Standard Webhooks has it; at least once, in no particular order.",
        tags,
        body: WebhookBody,
        response: answers({ 201: NewWebhookAnswer }),
      },
    },
    async (request, reply) => {
      const { zone, keyId } = callerOf(request);
      if (webhooks.of(zone).length >= MAX_PER_ZONE)
        throw new Problem("too-many-webhooks", `a zone has up to ${MAX_PER_ZONE}; remove one first`);
      await demandTarget(edge, request.body.url);
      const asked = { ...EVERYTHING, url: request.body.url, ...changesOf(request.body) };
      const { webhook, secret } = await webhooks.create({ zone, keyId }, asked);
      reply.header("location", `${app.prefix}/webhooks/${webhook.id}`);
      return reply.code(201).send({ ...answerOf(edge, webhook), secret });
    },
  );

  app.get(
    "/webhooks/:id",
    {
      ...admin,
      schema: {
        summary: "Show a webhook",
        tags,
        params: WebhookId,
        response: answers({ 200: WebhookAnswer }),
      },
    },
    async (request) => answerOf(edge, webhookOf(edge, callerOf(request).zone, request.params.id)),
  );

  app.patch(
    "/webhooks/:id",
    {
      config: { ...admin.config, audit: "webhook.update" },
      schema: {
        summary: "Change, disable or enable a webhook",
        description: "What is left out stays as it is.",
        tags,
        params: WebhookId,
        body: WebhookChange,
        response: answers({ 200: WebhookAnswer }),
      },
    },
    async (request) => {
      const webhook = webhookOf(edge, callerOf(request).zone, request.params.id);
      const { url, enabled } = request.body;
      if (url !== undefined) await demandTarget(edge, url);
      const changed = await webhooks.update(webhook, changesOf(request.body), enabled);
      if (!changed) throw notFound("webhook");
      return answerOf(edge, changed);
    },
  );

  app.delete(
    "/webhooks/:id",
    {
      config: { ...adminWithoutBody.config, audit: "webhook.delete" },
      schema: {
        summary: "Remove a webhook with its deliveries",
        tags,
        params: WebhookId,
        response: answers({ 200: WebhookRemoved }),
      },
    },
    async (request) => {
      const webhook = webhookOf(edge, callerOf(request).zone, request.params.id);
      await webhooks.remove(webhook);
      return { removed: true, id: webhook.id };
    },
  );

  app.post(
    "/webhooks/:id/rotate",
    {
      config: { ...admin.config, audit: "webhook.rotate" },
      preValidation: emptyIfMissing,
      schema: {
        summary: "Give a webhook a new secret",
        description: "Until the overlap is over (a day by default) the old one signs too.",
        tags,
        params: WebhookId,
        body: SecretRotation,
        response: answers({ 200: NewWebhookAnswer }),
      },
    },
    async (request) => {
      const webhook = webhookOf(edge, callerOf(request).zone, request.params.id);
      const overlapMs = (request.body.overlap_seconds ?? DEFAULT_OVERLAP_S) * 1000;
      const made = await webhooks.rotate(webhook, Math.round(overlapMs));
      if (!made) throw notFound("webhook");
      return { ...answerOf(edge, made.webhook), secret: made.secret };
    },
  );

  deliveryRoutes(app, edge);
}

function deliveryRoutes(app: App, edge: Edge): void {
  const { webhooks } = edge;

  app.post(
    "/webhooks/:id/test",
    {
      config: { ...adminWithoutBody.config, audit: "webhook.test" },
      schema: {
        summary: "Send a test event to a webhook",
        tags,
        params: WebhookId,
        response: answers({ 202: DeliveryAnswer }),
      },
    },
    async (request, reply) => {
      const webhook = enabledOf(edge, callerOf(request).zone, request.params.id);
      return reply.code(202).send(deliveryAnswer(await webhooks.test(webhook)));
    },
  );

  app.get(
    "/webhooks/:id/deliveries",
    {
      ...admin,
      schema: {
        summary: "List what was sent to a webhook, newest first",
        description: "Deliveries are kept for two weeks.",
        tags,
        params: WebhookId,
        querystring: Type.Object(
          {
            limit: Type.Optional(PageLimit),
            cursor: Type.Optional(
              Type.String({ maxLength: 256, description: "Where an earlier page said `next`." }),
            ),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: DeliveriesAnswer }),
      },
    },
    async (request) => {
      const webhook = webhookOf(edge, callerOf(request).zone, request.params.id);
      const { limit = 50, cursor } = request.query;
      if (cursor !== undefined && !isName(cursor))
        throw invalid([{ in: "query", pointer: "/cursor", detail: "is none that this server gave out" }]);
      const rows = await webhooks.deliveries(webhook, cursor, limit + 1);
      const page = rows.slice(0, limit);
      return {
        deliveries: page.map(deliveryAnswer),
        next: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
      };
    },
  );

  app.get(
    "/webhooks/:id/deliveries/:delivery",
    {
      ...admin,
      schema: {
        summary: "Show a delivery",
        tags,
        params: DeliveryId,
        response: answers({ 200: DeliveryAnswer }),
      },
    },
    async (request) => {
      const { id, delivery } = request.params;
      return deliveryAnswer(await deliveryOf(edge, webhookOf(edge, callerOf(request).zone, id), delivery));
    },
  );

  app.post(
    "/webhooks/:id/deliveries/:delivery/redeliver",
    {
      config: { ...adminWithoutBody.config, audit: "webhook.redeliver" },
      schema: {
        summary: "Send a delivery once more",
        description: "Under the same webhook-id.",
        tags,
        params: DeliveryId,
        response: answers({ 202: DeliveryAnswer }),
      },
    },
    async (request, reply) => {
      const { id, delivery } = request.params;
      const webhook = enabledOf(edge, callerOf(request).zone, id);
      const again = await webhooks.redeliver(await deliveryOf(edge, webhook, delivery));
      return reply.code(202).send(deliveryAnswer(again));
    },
  );
}

function webhookOf({ webhooks }: Edge, zone: string, id: string): WebhookRow {
  const webhook = webhooks.find(zone, id);
  if (!webhook) throw notFound("webhook");
  return webhook;
}

function enabledOf(edge: Edge, zone: string, id: string): WebhookRow {
  const webhook = webhookOf(edge, zone, id);
  const suspended = edge.webhooks.suspendedReason(webhook);
  if (suspended !== undefined)
    throw new Problem(
      "webhook-disabled",
      `nothing is sent to it (${suspended}); hand it over to another key first`,
    );
  if (webhook.disabledAt === -1) return webhook;
  throw new Problem("webhook-disabled", `nothing is sent to it (${webhook.disabledReason}); enable it first`);
}

async function deliveryOf({ webhooks }: Edge, webhook: WebhookRow, id: string): Promise<DeliveryRow> {
  const delivery = isName(id) ? await webhooks.delivery(webhook, id) : undefined;
  if (!delivery) throw notFound("delivery");
  return delivery;
}

async function demandTarget({ webhooks }: Edge, url: string): Promise<void> {
  const detail = await webhooks.problemWith(url);
  if (detail !== undefined) throw invalid([{ in: "body", pointer: "/url", detail }]);
}

const EVERYTHING: Omit<NewWebhook, "url"> = {
  description: "",
  events: WEBHOOK_EVENTS,
  agents: [],
  types: [],
  executors: [],
  includeResult: false,
};

function changesOf(body: WebhookChange): Partial<NewWebhook> {
  const { url, description, events, agents, task_types, executors, include_result } = body;
  return {
    ...(url !== undefined && { url }),
    ...(description !== undefined && { description }),
    ...(events && { events: [...new Set(events)] }),
    ...(agents && { agents: [...new Set(agents)] }),
    ...(task_types && { types: [...new Set(task_types)] }),
    ...(executors && { executors: [...new Set(executors)] }),
    ...(include_result !== undefined && { includeResult: include_result }),
  };
}

function answerOf({ keys, webhooks }: Edge, row: WebhookRow): WebhookAnswer {
  return {
    id: row.id,
    zone: row.zone,
    url: row.url,
    description: row.description,
    events: row.events as WebhookAnswer["events"],
    agents: [...row.agents],
    task_types: [...row.types],
    executors: [...row.executors],
    include_result: row.includeResult,
    created_at: instantText(row.createdAt),
    enabled: row.disabledAt === -1,
    disabled_at: instantOrNull(row.disabledAt),
    disabled_reason: row.disabledReason === "" ? null : row.disabledReason,
    failing_since: instantOrNull(row.failingSince),
    key_id: row.keyId === "" ? null : keys.ownerOf(row.keyId),
    suspended_reason: webhooks.suspendedReason(row) ?? null,
    secrets: row.secrets.length,
  };
}

function deliveryAnswer(row: DeliveryRow): DeliveryAnswer {
  return {
    id: row.id,
    webhook_id: row.webhookId,
    type: row.type,
    subject: row.subject,
    status: row.status,
    created_at: instantText(row.createdAt),
    tries: row.tries,
    tried_at: instantOrNull(row.triedAt),
    next_try_at: instantOrNull(row.nextAt),
    answered: row.answered === 0 ? null : row.answered,
    error: row.error === "" ? null : row.error,
    body: JSON.parse(row.body) as unknown,
  };
}
