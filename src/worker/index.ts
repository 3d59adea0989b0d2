export type { ResultHandle } from "../protocol/index.ts";
export { startWork } from "./attempt.ts";
export { BUILT_IN, BUILT_IN_HANDLERS } from "./builtin.ts";
export type { DataOptions } from "./chunk-room.ts";
export type { RunningCommand } from "./command.ts";
export { command, fiberTask, type Handler, type Handlers, shellCommand, task } from "./handler.ts";
export { PermanentError } from "./permanent-error.ts";
export { PollTransport } from "./poll-transport.ts";
export { onMain, onThread, type ProcessorRule, reading } from "./processors/marks.ts";
export type { ServerAddress } from "./server-address.ts";
export type { FiberTaskContext, TaskContext } from "./task-context.ts";
export { loadTasksFile, TasksFileError, tasksIn } from "./tasks-file.ts";
export {
  type AttemptName,
  type Connection,
  ConnectionRefused,
  type Transport,
  type WorkerHost,
} from "./transport.ts";
export { WebSocketTransport } from "./websocket-transport.ts";
export { Worker, type WorkerEvent, type WorkerOptions } from "./worker.ts";
