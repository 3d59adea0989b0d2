import { type Static, Type } from "typebox";
import {
  Count,
  KeyIdOrNull,
  Name,
  NextCursor,
  OrNull,
  SuspendedReason,
  Time,
  TimeOrNull,
} from "./api-parts.ts";

const closed = { additionalProperties: false };

export const WEBHOOK_EVENTS = ["task.completed", "task.failed", "task.cancelled", "run.ended"] as const;
const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;

const Events = Type.Array(Type.Enum([...WEBHOOK_EVENTS]), {
  minItems: 1,
  maxItems: WEBHOOK_EVENTS.length,
  description: "What is sent; by default all of it.",
  examples: [["task.failed", "run.ended"]],
});

function Only(what: string, example: string) {
  return Type.Array(Name("A name.", example), {
    maxItems: 100,
    description: `Only what is about one of these ${what}; empty: about any.`,
    examples: [[example]],
  });
}

const asked = {
  description: Type.Optional(
    Type.String({
      maxLength: 1000,
      pattern: "^[^\\p{Cc}\\p{Cs}]*$",
      description: "What it is for.",
      examples: ["tells the shop what is ready"],
    }),
  ),
  events: Type.Optional(Events),
  agents: Type.Optional(Only("agents", "alice")),
  task_types: Type.Optional(Only("types of tasks; runs have none", "resize_image")),
  executors: Type.Optional(Only("executors; runs have none", "agent-worker-1")),
  include_result: Type.Optional(
    Type.Boolean({
      default: false,
      description: "Send results up to 64 KiB along, instead of their hash and size alone.",
    }),
  ),
};

const Url = Type.String({
  maxLength: 2048,
  description: "Where to: https, and at a public address unless the operator allows others.",
  examples: ["https://example.com/hooks/orrery"],
});

export type WebhookBody = Static<typeof WebhookBody>;
export const WebhookBody = Type.Object({ url: Url, ...asked }, closed);

export type WebhookChange = Static<typeof WebhookChange>;
export const WebhookChange = Type.Object(
  {
    url: Type.Optional(Url),
    ...asked,
    enabled: Type.Optional(
      Type.Boolean({ description: "Enabled again, it gets what ends from then on.", examples: [true] }),
    ),
  },
  closed,
);

export type SecretRotation = Static<typeof SecretRotation>;
export const SecretRotation = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 86_400 * 365,
        default: 86_400,
        description: "How long the old secret signs too.",
        examples: [86_400],
      }),
    ),
  },
  closed,
);

const webhook = {
  id: Type.String({ examples: ["wh_0195a6c2-6f0e-7c3a-9d1b-2f4e5a6b7c8d"] }),
  zone: Type.String(),
  url: Type.String(),
  description: Type.String(),
  events: Type.Array(Type.Enum([...WEBHOOK_EVENTS])),
  agents: Type.Array(Type.String()),
  task_types: Type.Array(Type.String()),
  executors: Type.Array(Type.String()),
  include_result: Type.Boolean(),
  created_at: Time("When it was made."),
  enabled: Type.Boolean(),
  disabled_at: TimeOrNull("When it was disabled."),
  disabled_reason: OrNull(Type.String()),
  failing_since: TimeOrNull("When it failed first since it last succeeded."),
  key_id: KeyIdOrNull,
  suspended_reason: SuspendedReason,
  secrets: Type.Integer({ minimum: 1, description: "How many sign: more than one while they are rotated." }),
};

export type WebhookAnswer = Static<typeof WebhookAnswer>;
export const WebhookAnswer = Type.Object(webhook, { title: "Webhook" });
export type WebhooksAnswer = Static<typeof WebhooksAnswer>;
export const WebhooksAnswer = Type.Object({ webhooks: Type.Array(WebhookAnswer) });
export type NewWebhookAnswer = Static<typeof NewWebhookAnswer>;
export const NewWebhookAnswer = Type.Object(
  {
    ...webhook,
    secret: Type.String({ description: "Signs what is sent (Standard Webhooks); shown this once." }),
  },
  { title: "NewWebhook" },
);
export type WebhookRemoved = Static<typeof WebhookRemoved>;
export const WebhookRemoved = Type.Object({ removed: Type.Boolean(), id: Type.String() });

export type DeliveryAnswer = Static<typeof DeliveryAnswer>;
export const DeliveryAnswer = Type.Object(
  {
    id: Type.String({ description: "Sent as webhook-id, the same on every try." }),
    webhook_id: Type.String(),
    type: Type.String({ examples: ["task.completed"] }),
    subject: Type.String({ description: "The task or run that it is about." }),
    status: Type.Enum([...DELIVERY_STATUSES]),
    created_at: Time("When it was made."),
    tries: Count,
    tried_at: TimeOrNull("When it was tried last."),
    next_try_at: TimeOrNull("When it is tried next."),
    answered: OrNull(Type.Integer({ description: "The status of the last answer." })),
    error: OrNull(Type.String({ description: "Why the last try failed." })),
    body: Type.Unknown({ description: "What is sent." }),
  },
  { title: "Delivery" },
);
export type DeliveriesAnswer = Static<typeof DeliveriesAnswer>;
export const DeliveriesAnswer = Type.Object(
  { deliveries: Type.Array(DeliveryAnswer), next: NextCursor },
  { title: "DeliveryPage" },
);
