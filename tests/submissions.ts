import type { TaskSubmission } from "../src/server/index.ts";

/** What a caller may ask for, plainly: it is tried once. */
export function aSubmission(changed: Partial<TaskSubmission> = {}): TaskSubmission {
  return {
    executor: "default",
    type: "t",
    payload: "{}",
    priority: 2,
    requestState: "pending",
    estimateMs: 1000,
    boostMicros: 0,
    deadline: -1,
    runAt: -1,
    idempotencyKey: undefined,
    bodyHash: "",
    cpuMillicores: 0,
    memoryBytes: 0,
    capabilities: [],
    limits: [],
    budget: [],
    amounts: [],
    maxAttempts: 1,
    backoffMs: 0,
    timeoutMs: 0,
    ...changed,
  };
}
