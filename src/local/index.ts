export { type LocalAlternative, LocalRun, type Observer } from "./local-run.ts";
export { localWorkers, thisMachine } from "./workers.ts";
