/** A worker of `local` as a process of its own, which ends with the one that started it. */

import { availableParallelism, totalmem } from "node:os";
import { ownEnvironment } from "../protocol/index.ts";
import {
  BUILT_IN_HANDLERS,
  loadTasksFile,
  shellCommand,
  WebSocketTransport,
  Worker,
} from "../worker/index.ts";

/** What it is told first. */
export interface WorkerOrder {
  readonly id: string;
  readonly url: string;
  readonly key: string;
  readonly tasks: string;
  readonly slots: number;
  readonly executors: readonly string[];
  readonly capabilities: readonly string[];
  readonly cwd: string;
  /** What the results that it holds may take; undefined: as much as is usual. */
  readonly memoryBytes: number | undefined;
}

/** What it says, once. */
export type WorkerWord =
  | { readonly type: "ready"; readonly tasks: readonly string[] }
  | { readonly type: "failed"; readonly message: string };

process.once("message", (order: WorkerOrder) => void work(order).catch(fail));
// Who started it decides when it ends, also where Ctrl-C reaches both.
process.on("SIGINT", () => {});

async function work(order: WorkerOrder): Promise<void> {
  const { id, url, key, tasks, slots, executors, capabilities, memoryBytes } = order;
  process.chdir(order.cwd);
  const handlers = { ...BUILT_IN_HANDLERS, command: shellCommand, ...(await loadTasksFile(tasks)) };
  const worker = new Worker({
    transport: new WebSocketTransport({ url, key }),
    handlers,
    registration: {
      id,
      executors: [...executors],
      capabilities: [...capabilities],
      cpu_millicores: availableParallelism() * 1000,
      memory_bytes: totalmem(),
      slots,
    },
    data: { ...(memoryBytes !== undefined && { memoryBytes }) },
    threads: 1,
    environment: ownEnvironment(process.env),
    // Most functions here know of no signal, and would only be waited for.
    graceMs: 2_000,
    observe(event) {
      if (event.type === "connected" && !event.again) say({ type: "ready", tasks: Object.keys(handlers) });
      else if (event.type === "warning") process.emitWarning(event.message, "OrreryWarning");
    },
  });
  process.once("disconnect", () => worker.stop());
  await worker.run();
  process.exit();
}

function say(word: WorkerWord, then: () => void = () => {}): void {
  // Whoever started it may be gone, which is no reason to fail.
  if (process.connected) process.send?.(word, then);
}

function fail(error: unknown): void {
  process.exitCode = 1;
  const message = error instanceof Error ? error.message : String(error);
  say({ type: "failed", message }, () => {
    if (process.connected) process.disconnect();
  });
}
