import { randomBytes } from "node:crypto";
import { availableParallelism, constants, hostname, totalmem } from "node:os";
import type { Settings } from "../config/index.ts";
import { listedEnvironment } from "../protocol/index.ts";
import type { ServerTls } from "../tls/index.ts";
import {
  BUILT_IN_HANDLERS,
  ConnectionRefused,
  type DataOptions,
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
import { echoDetector } from "./signal-echo.ts";
import { telemetryFor } from "./telemetry.ts";
import { readTls, reloading } from "./tls.ts";
import type { WorkerCommandOptions } from "./worker.ts";
import { printEvent } from "./worker-words.ts";

type WorkerSettings = Settings["worker"];

/** What the process may take to end by itself once the worker has left. Tasks may have left timers and sockets open. */
const EXIT_LIMIT_MS = 250;

/** Resolves when the worker has drained. */
export async function runWorker(options: WorkerCommandOptions, settings: Settings): Promise<void> {
  await using _telemetry = await telemetryFor(settings.telemetry, "orrery-worker");
  const tls = readTls("worker", settings.worker);
  const worker = new Worker({
    transport: transportOf(settings.worker),
    registration: registrationOf(options.id, settings.worker),
    handlers: await handlersOf(settings.worker),
    data: dataOf(settings.worker, tls),
    threads: threadsOf(settings.worker),
    environment: listedEnvironment(process.env, settings.worker.passEnv),
    observe: (event: WorkerEvent) => printEvent(event, { ...options, server: settings.worker.url }),
  });
  const reload = reloading("worker", settings.worker, {
    renew: (renewed) => worker.renewTls(renewed),
    info: warn,
    warn,
  });
  const signals = followSignals(worker, reload);
  process.on("unhandledRejection", warnOfRejection);
  try {
    await worker.run();
  } catch (error) {
    if (isListenError(error)) throw new UsageError(cannotListen(error, settings.worker));
    if (!(error instanceof ConnectionRefused)) throw error;
    throw new CliError(`${settings.worker.url} refuses this worker: ${error.message}`, 2);
  } finally {
    signals.stop();
    // Without unref it would itself be what the process waits for.
    setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
  }
  if (signals.second) throw new CliError("", 128 + constants.signals[signals.second]);
}

function transportOf({ url, key, transport }: WorkerSettings): Transport {
  if (!key) throw new UsageError("there is no API key; set ORRERY_API_KEY, or use --key");
  const address: ServerAddress = { url, key };
  return transport === "ws" ? new WebSocketTransport(address) : new PollTransport(address);
}

function registrationOf(id: string | undefined, settings: WorkerSettings): WorkerOptions["registration"] {
  if (settings.cpuMillicores === 0) warn("with --cpu 0 this worker gets no task that asks for cores");
  const cores = availableParallelism();
  const { zone, executors, capabilities, cpuMillicores, memoryBytes, slots } = settings;
  return {
    id: id ?? `${hostname()}-${process.pid}-${randomBytes(2).toString("hex")}`,
    ...(zone === undefined ? {} : { zone }),
    executors: [...executors],
    capabilities: [...capabilities],
    cpu_millicores: cpuMillicores ?? cores * 1_000,
    memory_bytes: memoryBytes ?? usableMemory(),
    slots: slots ?? cores,
  };
}

const MAX_DATA_MEMORY_BYTES = 4 * 1024 ** 3;

function dataOf(settings: WorkerSettings, tls: ServerTls | undefined): DataOptions {
  const { dataHost: host, dataPort: port, dataUrl, dataAllow, dataMemoryBytes } = settings;
  const { spillDir, memoryBytes } = settings;
  const half = Math.floor((memoryBytes ?? usableMemory()) / 2);
  return {
    host,
    port,
    allow: dataAllow,
    ...(tls && { tls }),
    memoryBytes: dataMemoryBytes ?? Math.min(half, MAX_DATA_MEMORY_BYTES),
    ...(dataUrl !== undefined && { url: dataUrl }),
    ...(spillDir !== undefined && { spillDirectory: spillDir }),
  };
}

function threadsOf({ threads, slots }: WorkerSettings): number {
  const cores = availableParallelism();
  return threads ?? Math.min(slots ?? cores, cores);
}

function isListenError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall === "listen";
}

function cannotListen(
  { code, message }: NodeJS.ErrnoException,
  { dataHost, dataPort }: WorkerSettings,
): string {
  const why = code === "EADDRINUSE" ? "something else listens there" : message;
  return `cannot listen on ${dataHost} port ${dataPort}: ${why}; use another --data-port or --data-host`;
}

/** A container may have less than its machine. */
function usableMemory(): number {
  const limit = process.constrainedMemory();
  return limit && limit < totalmem() ? limit : totalmem();
}

/** What the tasks file says goes before what is built in. */
async function handlersOf({ tasks, shell }: WorkerSettings): Promise<Handlers> {
  const builtIn = { ...BUILT_IN_HANDLERS, ...(shell && { command: shellCommand }) };
  if (tasks === undefined) return builtIn;
  try {
    return { ...builtIn, ...(await loadTasksFile(tasks)) };
  } catch (error) {
    if (error instanceof TasksFileError) throw new UsageError(error.message);
    throw error;
  }
}

type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

interface Signals {
  readonly second: StopSignal | undefined;
  stop(): void;
}

/** With `reload`, SIGHUP calls it in place of stopping the worker. */
function followSignals(worker: Worker, reload: (() => void) | undefined): Signals {
  let count = 0;
  let second: Signals["second"];
  const isEcho = echoDetector();
  const follow = (signal: StopSignal): void => {
    if (isEcho(signal)) return;
    if (++count === 1) worker.drain();
    else {
      second ??= signal;
      worker.stop();
    }
  };
  const onHangUp = reload ?? follow;
  process.on("SIGINT", follow).on("SIGTERM", follow).on("SIGHUP", onHangUp);
  return {
    get second() {
      return second;
    },
    stop: () => process.off("SIGINT", follow).off("SIGTERM", follow).off("SIGHUP", onHangUp),
  };
}

/** A promise that one task forgot must not take all the others with it. */
function warnOfRejection(reason: unknown): void {
  warn(
    `a promise was rejected and nobody looked: ${reason instanceof Error ? reason.stack : String(reason)}`,
  );
}
