/** Orrery as a library: graphs of functions, and a scheduler, its store and workers in one process. */
export {
  type Computation,
  type ComputeOptions,
  type GraphNode,
  graph,
  NodeFailed,
  type NodeOptions,
  type ResultHandle,
  type TaskGraph,
} from "./client/index.ts";
export {
  type LocalOptions,
  type LocalOrrery,
  local,
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
