// A worker in this process, against a test server.

import { randomUUID } from "node:crypto";
import type { Assignment } from "../src/protocol/worker-messages.ts";
import type { Handlers, Transport } from "../src/worker/index.ts";
import { Worker, type WorkerEvent, type WorkerOptions } from "../src/worker/index.ts";

export function anAssignment(
  taskType: string,
  payload: unknown = null,
  fields: Partial<Assignment> = {},
): Assignment {
  return {
    task: randomUUID(),
    attempt: 1,
    task_type: taskType,
    executor: "default",
    zone: "north",
    agent: "anna",
    payload,
    timeout_ms: 0,
    ...fields,
  };
}

export interface StartedWorker {
  readonly worker: Worker;
  readonly events: WorkerEvent[];
  readonly ended: Promise<void>;
}

export function startWorker(
  transport: Transport,
  handlers: Handlers,
  options: Partial<WorkerOptions> & { readonly slots?: number } = {},
): StartedWorker {
  const { slots = 4, ...rest } = options;
  const events: WorkerEvent[] = [];
  const worker = new Worker({
    transport,
    handlers,
    registration: {
      id: "worker-1",
      executors: ["default"],
      cpu_millicores: 4_000,
      memory_bytes: 2 ** 30,
      slots,
    },
    observe: (event) => events.push(event),
    ...rest,
  });
  const ended = worker.run();
  // Looked at later, by those who expect it to fail.
  ended.catch(() => {});
  return { worker, events, ended };
}

/** Resolves when it is told to. */
export class Gate {
  open: () => void = () => {};
  readonly opened: Promise<void> = new Promise((resolve) => {
    this.open = resolve;
  });
}
