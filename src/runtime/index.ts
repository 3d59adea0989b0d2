export type { Budget, Component } from "./budget.ts";
export type {
  CapBudget,
  CapChannel,
  CapNamed,
  CapSpawn,
  CapSyscall,
  ChannelRight,
  Mint,
  SyscallKind,
} from "./capabilities.ts";
export type { Channel, ChannelOptions } from "./channel.ts";
export { defaultRuntime } from "./default-runtime.ts";
export {
  BudgetExhausted,
  Cancelled,
  Deadlock,
  Panic,
  RuntimeError,
  type RuntimeErrorCode,
} from "./errors.ts";
export type { Fiber, Handle } from "./fiber.ts";
export type { Capabilities } from "./holdings.ts";
export type { Continuation, Instruction, Signal, Steps } from "./instruction.ts";
export type { FiberFunction, Nursery, SpawnOptions } from "./nursery.ts";
export type { Exhaustion, NurseryOptions } from "./nursery-core.ts";
export type { CapabilityCheck, Observer, Slice, Steal } from "./observer.ts";
export type { Priority } from "./processor.ts";
export type { ProfileName } from "./profiles.ts";
export type { Launched, Outcome } from "./root.ts";
export { type Body, type Counters, Runtime } from "./runtime.ts";
export type { RuntimeOptions } from "./runtime-options.ts";
export { type Selected, select } from "./select.ts";
export type { Victims } from "./simulation.ts";
export type { FiberView, NurseryView, Snapshot } from "./snapshot.ts";
export type { FiberState, NurseryState, OutcomeKind } from "./states.ts";
export { portable } from "./threads/portable.ts";
export type { Recording } from "./threads/recording.ts";
export type { Replayed } from "./threads/replay.ts";
export type { ChromeTrace, TraceEvent } from "./trace.ts";
export { sleep, wait } from "./waits.ts";
