const ESTIMATES_MS = [1_000, 5_000, 30_000, 120_000, 600_000];

/** What a task says to all queues. @param {number} number */
export function payloadOf(number) {
  return { n: number };
}

/**
 * With estimates of all sizes, so that there is something to order.
 *
 * @param {number} number
 * @returns {import("../../dist/server/index.js").TaskSubmission}
 */
export function taskOf(number) {
  return {
    executor: "default",
    type: "noop",
    payload: JSON.stringify(payloadOf(number)),
    priority: 2,
    requestState: "pending",
    estimateMs: ESTIMATES_MS[number % ESTIMATES_MS.length] ?? 1_000,
    boostMicros: 0,
    budget: [],
    deadline: -1,
    runAt: -1,
    idempotencyKey: undefined,
    bodyHash: "",
    cpuMillicores: 0,
    memoryBytes: 0,
    capabilities: [],
    limits: [],
    amounts: [],
    maxAttempts: 3,
    backoffMs: 1_000,
    timeoutMs: 0,
  };
}
