export { type CommandOutcome, type CommandRequest, type RunningCommand, startCommand } from "./command.ts";
