/**
 * The second door of this part, for those who check what crosses a wire: the schemas themselves. They load
 * TypeBox, which takes a quarter of a second, so whoever needs only their types enters through `index.ts`.
 */
export * from "./api-admin.ts";
export * from "./api-audit.ts";
export * from "./api-changes.ts";
export * from "./api-fleet.ts";
export * from "./api-overview.ts";
export * from "./api-parts.ts";
export * from "./api-past.ts";
export * from "./api-run-graph.ts";
export * from "./api-runs.ts";
export * from "./api-schedules.ts";
export * from "./api-session.ts";
export * from "./api-tasks.ts";
export * from "./api-webhooks.ts";
export * from "./api-what-if.ts";
export * from "./api-why.ts";
export * from "./api-worker.ts";
export {
  Ack,
  MAX_REPORTS,
  PollAnswer,
  Registration,
  ServerMessage,
  WorkerMessage,
} from "./worker-messages.ts";
