export type {
  Api,
  Caller,
  Explanation,
  Refusal,
  RunView,
  Submitted,
  TaskSubmission,
  TaskView,
  WorkerGateway,
  WorkerSession,
  WorkerSink,
} from "./api.ts";
export { Driver } from "./driver.ts";
export { type OpenService, openService, type ServiceSettings } from "./open-service.ts";
export { Projection } from "./projection.ts";
export { type RunningServer, StartError, type StartOptions, startServer } from "./start.ts";
