/** The client of the service: `import { OrreryClient } from "orrery/client"`. */
export type {
  AgentAnswer,
  AuditCheckAnswer,
  AuditEntry,
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
  RevokeBody,
  RevokedKeyAnswer,
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
export type { ResultHandle } from "../protocol/index.ts";
export type { CallOptions } from "./calls.ts";
export {
  type LogOptions,
  OrreryClient,
  type PageOptions,
  type SubmitInOptions,
  type TaskFilter,
} from "./client.ts";
export type { Computation, ComputeOptions } from "./computation.ts";
export type { ConnectionOptions as ClientOptions } from "./connection.ts";
export { NodeFailed, OrreryError, TaskFailed } from "./errors.ts";
export { graph, type NodeMaker, type NodeOptions, type TaskGraph } from "./graph.ts";
export type { Argument } from "./graph-argument.ts";
export type { GraphNode, ResultOf, Wanted } from "./graph-node.ts";
export { refuseLoss } from "./json-loss.ts";
export type { RawResult } from "./node-result.ts";
export type { EventsOptions, RunEvent, ServiceEvent } from "./run-events.ts";
export type { RunOptions } from "./runs.ts";
export type { NewSchedule } from "./schedules.ts";
export type { BatchResult, Submission } from "./submission.ts";
export { submitIn, type Transaction } from "./transaction.ts";
export type { LogLine, WaitOptions } from "./waiting.ts";
