import { randomBytes } from "node:crypto";
import { availableParallelism, constants, hostname, totalmem } from "node:os";
import { parseCpuMillicores, parseMemoryBytes } from "../protocol/index.ts";
import {
  BUILT_IN_HANDLERS,
  ConnectionRefused,
  type Handlers,
  loadTasksFile,
  PollTransport,
  type ServerAddress,
  shellCommand,
  TasksFileError,
  type Transport,
  WebSocketTransport,
  Worker,
  type WorkerEvent,
  type WorkerOptions,
} from "../worker/index.ts";
import { CliError, UsageError } from "./errors.ts";
import { warn } from "./output.ts";
import { telemetryFor } from "./telemetry.ts";
import type { WorkerCommandOptions } from "./worker.ts";
import { printEvent } from "./worker-words.ts";

/** What the process may take to end by itself once the worker has left. Tasks may have left timers and sockets open. */
const EXIT_LIMIT_MS = 250;

/** Resolves when the worker has drained. */
export async function runWorker(options: WorkerCommandOptions): Promise<void> {
  await using _telemetry = await telemetryFor(options, "orrery-worker");
  const worker = new Worker({
    transport: transportOf(options),
    registration: registrationOf(options),
    handlers: await handlersOf(options),
    observe: (event: WorkerEvent) => printEvent(event, options),
  });
  const signals = followSignals(worker);
  process.on("unhandledRejection", warnOfRejection);
  try {
    await worker.run();
  } catch (error) {
    if (!(error instanceof ConnectionRefused)) throw error;
    throw new CliError(`${options.server} refuses this worker: ${error.message}`, 2);
  } finally {
    signals.stop();
    // Without unref it would itself be what the process waits for.
    setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
  }
  if (signals.second) throw new CliError("", 128 + constants.signals[signals.second]);
}

function transportOf({ server, key, transport }: WorkerCommandOptions): Transport {
  if (!/^https?:$/.test(URL.canParse(server) ? new URL(server).protocol : "")) {
    throw new UsageError(`${server} is no URL of a server; one looks like http://127.0.0.1:2026`);
  }
  if (!key) throw new UsageError("there is no API key; set ORRERY_API_KEY, or use --key");
  const address: ServerAddress = { url: server, key };
  return transport === "ws" ? new WebSocketTransport(address) : new PollTransport(address);
}

function registrationOf(options: WorkerCommandOptions): WorkerOptions["registration"] {
  const cores = availableParallelism();
  const { cpu, memory, zone } = options;
  return {
    id: options.id ?? `${hostname()}-${process.pid}-${randomBytes(2).toString("hex")}`,
    ...(zone === undefined ? {} : { zone }),
    executors: [...options.executor],
    capabilities: [...options.capability],
    cpu_millicores: cpu === undefined ? cores * 1_000 : quantity("--cpu", cpu, parseCpuMillicores),
    memory_bytes: memory === undefined ? usableMemory() : quantity("--memory", memory, parseMemoryBytes),
    slots: options.slots ?? cores,
  };
}

function quantity(
  option: string,
  text: string,
  parse: (value: unknown) => number | { readonly refusal: string },
): number {
  const value = parse(/^\d+(\.\d+)?$/.test(text) ? Number(text) : text);
  if (typeof value === "number") return value;
  throw new UsageError(`${option} ${value.refusal}`);
}

/** A container may have less than its machine. */
function usableMemory(): number {
  const limit = process.constrainedMemory();
  return limit && limit < totalmem() ? limit : totalmem();
}

/** What the tasks file says goes before what is built in. */
async function handlersOf({ tasks, shell }: WorkerCommandOptions): Promise<Handlers> {
  const builtIn = { ...BUILT_IN_HANDLERS, ...(shell && { command: shellCommand }) };
  if (tasks === undefined) return builtIn;
  try {
    return { ...builtIn, ...(await loadTasksFile(tasks)) };
  } catch (error) {
    if (error instanceof TasksFileError) throw new UsageError(error.message);
    throw error;
  }
}

interface Signals {
  readonly second: "SIGINT" | "SIGTERM" | undefined;
  stop(): void;
}

function followSignals(worker: Worker): Signals {
  let count = 0;
  let second: Signals["second"];
  const follow = (signal: "SIGINT" | "SIGTERM"): void => {
    if (++count === 1) worker.drain();
    else {
      second ??= signal;
      worker.stop();
    }
  };
  process.on("SIGINT", follow).on("SIGTERM", follow);
  return {
    get second() {
      return second;
    },
    stop: () => process.off("SIGINT", follow).off("SIGTERM", follow),
  };
}

/** A promise that one task forgot must not take all the others with it. */
function warnOfRejection(reason: unknown): void {
  warn(
    `a promise was rejected and nobody looked: ${reason instanceof Error ? reason.stack : String(reason)}`,
  );
}
