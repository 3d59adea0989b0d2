export { LocalRun, type Observer } from "./local-run.ts";
export { localWorkers } from "./workers.ts";
