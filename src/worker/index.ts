export { startWork } from "./attempt.ts";
export { BUILT_IN } from "./builtin.ts";
export { type CommandOutcome, type CommandRequest, type RunningCommand, startCommand } from "./command.ts";
