export { startWork } from "./attempt.ts";
export { BUILT_IN } from "./builtin.ts";
export type { RunningCommand } from "./command.ts";
