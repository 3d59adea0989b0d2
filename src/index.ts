/** Orrery as a library: a scheduler, its store and workers in one process. */
export {
  type OpenOptions,
  type Orrery,
  open,
  Refused,
  TaskFailed,
  type TaskOptions,
} from "./embedded/index.ts";
export {
  command,
  fiberTask,
  type Handler,
  type Handlers,
  PermanentError,
  type TaskContext,
  task,
} from "./worker/index.ts";
