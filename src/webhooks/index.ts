export type { Ended } from "./events.ts";
export { MAX_PER_ZONE, type NewWebhook, type WebhookSettings, Webhooks } from "./webhooks.ts";
