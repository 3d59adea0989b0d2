export { localCaller, startLocalWorker } from "./local-worker.ts";
export {
  type OpenOptions,
  type Orrery,
  open,
  RefusedError,
  TaskFailedError,
  type TaskOptions,
} from "./open.ts";
