import { availableParallelism, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { META_EXECUTOR } from "../protocol/index.ts";
import type { WorkerGateway } from "../server/index.ts";
import { type Handlers, Worker } from "../worker/index.ts";
import { InProcessTransport } from "./in-process-transport.ts";
import { localCaller } from "./local-worker.ts";

export interface MetaWorkerOptions {
  /** Those of a tasks file. What is no function of it has no thread to run on, and is not served. */
  readonly handlers: Handlers;
  /** Whose meta nodes it runs, its home first. */
  readonly zones: readonly string[];
  readonly warn: (message: string) => void;
}

/** The same on every server: whoever leads next takes its place at once, and what it ran is given out again. */
const ID = "beside-the-scheduler";
/** Each runs one node at a time, so that one that never pauses takes no other along when it is ended. */
const THREADS = 2;
/** Of a function that was told to stop, then of its thread. */
const GRACE_MS = 1_000;
/** What runs may take to end once its server no longer leads. */
const DRAIN_MS = 2_000;

/** A worker in the process of a server that leads. It runs meta nodes on threads, and holds no results. */
export function startMetaWorker(gateway: WorkerGateway, options: MetaWorkerOptions): AsyncDisposable {
  const { handlers, warn } = options;
  const [zone = "default", ...zones] = options.zones;
  const worker = new Worker({
    transport: new InProcessTransport(gateway, localCaller(zone)),
    handlers: Object.fromEntries(Object.entries(handlers).filter(([, { isBound }]) => !isBound)),
    registration: {
      id: ID,
      zone,
      zones,
      executors: [META_EXECUTOR],
      capabilities: [],
      cpu_millicores: availableParallelism() * 1000,
      memory_bytes: totalmem(),
      slots: THREADS,
    },
    threads: THREADS,
    graceMs: GRACE_MS,
    observe: (event) => {
      if (event.type === "warning") warn(event.message);
    },
  });
  const ended = worker
    .run()
    .catch((error: Error) => warn(`meta nodes do not run beside this server: ${error.message}`));
  return {
    async [Symbol.asyncDispose]() {
      worker.drain();
      await Promise.race([ended, sleep(DRAIN_MS, undefined, { ref: false })]);
      worker.stop();
      await ended;
    },
  };
}
