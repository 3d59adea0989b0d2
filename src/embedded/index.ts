export { type LocalOptions, type LocalOrrery, lackingHere, local } from "./local.ts";
export { localCaller, startLocalWorker } from "./local-worker.ts";
export { startMetaWorker } from "./meta-worker.ts";
export {
  type OpenOptions,
  type Orrery,
  open,
  Refused,
  TaskFailed,
} from "./open.ts";
export type { TaskOptions } from "./task-options.ts";
