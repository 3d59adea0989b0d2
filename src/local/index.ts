export { LocalRun, type LocalRunOptions, type Observer } from "./local-run.ts";
export type { Active } from "./tally.ts";
export { localWorkers } from "./workers.ts";
