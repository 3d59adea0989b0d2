export type {
  Api,
  Caller,
  Explanation,
  Refusal,
  TaskSubmission,
  TaskView,
  WorkerGateway,
  WorkerSession,
  WorkerSink,
} from "./api.ts";
export { StartError } from "./door.ts";
export { problemWithPayload } from "./http/submission.ts";
export { checkOf } from "./http/validation.ts";
export { type Log, makeLog } from "./log.ts";
export { type OpenService, openService, type ServiceSettings } from "./open-service.ts";
export { keepSpareThread } from "./past/thread.ts";
export { secretProblem } from "./secret.ts";
export { type DevKey, type RunningServer, type StartOptions, startServer } from "./start.ts";
