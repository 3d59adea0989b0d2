/** The client of the service: `import { OrreryClient } from "orrery/client"`. */
export type {
  AgentAnswer,
  ClusterAnswer,
  DeliveryAnswer,
  EventData,
  KeyAnswer,
  KeyBody,
  LimitAnswer,
  LimitBody,
  NewKeyAnswer,
  NewWebhookAnswer,
  OverviewAnswer,
  QueueMetrics,
  RunAnswer,
  RunPlanAnswer,
  RunSummary,
  ScheduleAnswer,
  TaskAnswer,
  TaskSummary,
  WebhookAnswer,
  WebhookBody,
  WebhookChange,
  WhyAnswer,
  WorkersAnswer,
} from "../protocol/api-schemas.ts";
export type { CallOptions } from "./calls.ts";
export {
  type LogOptions,
  OrreryClient,
  type PageOptions,
  type RunOptions,
  type SubmitInOptions,
  type TaskFilter,
} from "./client.ts";
export type { ConnectionOptions as ClientOptions } from "./connection.ts";
export { OrreryError, TaskFailed } from "./errors.ts";
export type { EventsOptions, RunEvent, ServiceEvent } from "./run-events.ts";
export type { NewSchedule } from "./schedules.ts";
export type { BatchResult, Submission } from "./submission.ts";
export { submitIn, type Transaction } from "./transaction.ts";
export type { LogLine, WaitOptions } from "./waiting.ts";
