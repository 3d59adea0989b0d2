import { availableParallelism, hostname, totalmem } from "node:os";
import type { Caller, WorkerGateway } from "../server/index.ts";
import {
  BUILT_IN_HANDLERS,
  type DataOptions,
  type Handlers,
  Worker,
  type WorkerEvent,
  type WorkerOptions,
} from "../worker/index.ts";
import { InProcessTransport } from "./in-process-transport.ts";

export interface LocalWorkerOptions {
  readonly handlers: Handlers;
  readonly executors: readonly string[];
  readonly capabilities?: readonly string[];
  readonly zone: string;
  readonly slots?: number;
  /** Without it, nobody can fetch results that are held here. */
  readonly data?: DataOptions;
  readonly environment?: WorkerOptions["environment"];
  readonly observe?: (event: WorkerEvent) => void;
}

export interface LocalWorker extends AsyncDisposable {
  /** Tells what runs to stop, and does not wait for it. */
  stop(): Promise<void>;
}

/** A worker in the same process as its scheduler. Disposing of it lets what runs end first. */
export function startLocalWorker(gateway: WorkerGateway, options: LocalWorkerOptions): LocalWorker {
  const { handlers, executors, capabilities = [], zone, data, environment, observe } = options;
  const cores = availableParallelism();
  const worker = new Worker({
    transport: new InProcessTransport(gateway, localCaller(zone)),
    handlers: { ...BUILT_IN_HANDLERS, ...handlers },
    registration: {
      id: `${hostname()}-${process.pid}`,
      zone,
      executors: [...executors],
      capabilities: [...capabilities],
      cpu_millicores: cores * 1000,
      memory_bytes: totalmem(),
      slots: options.slots ?? cores,
    },
    ...(data && { data }),
    ...(environment && { environment }),
    ...(observe && { observe }),
  });
  const ended = worker.run().catch((error: Error) => observe?.({ type: "warning", message: error.message }));
  return {
    async stop() {
      worker.stop();
      await ended;
    },
    async [Symbol.asyncDispose]() {
      worker.drain();
      await ended;
    },
  };
}

/** Who owns the process may do everything in it. */
export function localCaller(zone: string, agent = "local"): Caller {
  const scopes = new Set(["submit", "read", "work", "admin", "operator"] as const);
  return { keyId: "local", zone, agent, scopes, isZoneAdmin: true };
}
