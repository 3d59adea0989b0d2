import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config, Settings } from "../config/index.ts";
import type { SchedulerConfig } from "../ledger/index.ts";
import {
  keepSpareThread,
  type Log,
  makeLog,
  type RunningServer,
  StartError,
  type StartOptions,
  startServer,
} from "../server/index.ts";
import { abandonPostmasters } from "../store/index.ts";
import { CliError, UsageError } from "./errors.ts";
import type { ServeOptions } from "./serve.ts";
import { announce } from "./server-announcement.ts";
import { untilSignal } from "./server-signals.ts";
import { budgetsOf } from "./settings.ts";
import { telemetryFor } from "./telemetry.ts";
import { readTls, reloading } from "./tls.ts";

/** Time, in ms, after which a thread for later replays is started: until then the start itself needs the processor. */
const SPARE_AFTER_MS = 1_000;
/** Time, in ms, that a start may take to end after a signal. */
const END_START_WITHIN_MS = 5_000;

const NOT_WRITTEN =
  "its store could not be reached: what was under way is not written, and whoever asked for it was told so";

/** Serves until it is told to stop: the first signal closes in order, the second ends at once. */
export async function runServer(options: ServeOptions, config: Config): Promise<void> {
  const { settings } = config;
  const log = makeLog({
    level: settings.server.logLevel,
    isHuman: process.stderr.isTTY,
    write: (line) => process.stderr.write(line),
  });
  // What Node warns of is a line like any other.
  process.removeAllListeners("warning").on("warning", ({ name, message }) => log.warn(`${name}: ${message}`));
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<Error>((done) => {
    fail = done;
  });
  let running: RunningServer | undefined;
  const reload = reloading("server", settings.server, {
    renew: (tls) => running?.renewTls(tls),
    info: (message) => log.info(message),
    warn: (message) => log.warn(message),
  });
  const stopped = untilSignal(log, reload);
  await using _telemetry = await telemetryFor(settings.telemetry, "orrery-server");
  const server = await startedBefore(stopped, start(config, options.newSecret, log, fail));
  running = server;
  let demo: AsyncDisposable | undefined;
  let failure: Error | undefined;
  try {
    if (options.demo) demo = await (await import("./server-demo.ts")).startDemo(server, log, options.shell);
    await announce(server, { ...options, port: settings.server.port, version: ownVersion() });
    setTimeout(keepSpareThread, SPARE_AFTER_MS).unref();
    log.info("serving", { url: server.url, store: server.storeDescription, version: ownVersion() });
    const ended = await Promise.race([stopped, failed]);
    if (ended instanceof Error) failure = ended;
  } finally {
    if (!failure) await demo?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  }
  if (failure) throw new CliError(`the server has stopped: ${failure.message}`, 1);
  if (server.isLetGo) throw new CliError(`the server has stopped, but ${NOT_WRITTEN}`, 1);
  log.info("stopped");
}

/** Waits for the start. After a signal it has a moment to end in order: it may hang, or wait for a store. */
async function startedBefore(
  stopped: Promise<unknown>,
  starting: Promise<RunningServer>,
): Promise<RunningServer> {
  const givenUp = stopped.then(() => sleep(END_START_WITHIN_MS, undefined, { ref: false }));
  const server = await Promise.race([starting, givenUp]);
  if (server) return server;
  abandonPostmasters();
  throw new CliError("stopped before the server had started", 1);
}

async function start(
  { settings, origins }: Config,
  isNewSecret: boolean,
  log: Log,
  onFailed: (error: Error) => void,
): Promise<RunningServer> {
  const { scheduling, resources, speculation, queue, placement, server, webhooks } = settings;
  const { host, port, strictPort, store, advertise, takeOverMs, apiKey, secret } = server;
  const { leaseMs, graceMs, maxResultBytes, maxLogBytes, endedTasksMs, logsMs, idempotencyMs, dataAllow } =
    server;
  const { waitsMs, ...otherWebhooks } = webhooks;
  const beside = await metaWorkers(server, log);
  try {
    return await startServer({
      ...(beside && { beside }),
      host,
      port,
      strictPort,
      tls: readTls("server", server),
      store,
      dataDir: resolve(server.dataDir),
      isDataDirGiven: origins.get("server.data")?.kind !== "default",
      advertise: advertise && new URL(advertise).origin,
      takeOverMs,
      apiKey,
      secret,
      isNewSecret,
      version: ownVersion(),
      settings: {
        config: {
          ...placement,
          ...withoutUnused(queue),
          ...budgetsOf({ scheduling, resources, speculation }),
        },
        lookEveryMs: scheduling.schedulingIntervalMs,
        leaseMs,
        workers: server,
        graceMs,
        maxResultBytes,
        maxLogBytes,
        dataAllow,
        webhooks: { ...otherWebhooks, ...(waitsMs && { waitsMs }) },
        retention: { endedTasksMs, logsMs, idempotencyMs },
      },
      limits: server,
      log,
      onFailed,
    });
  } catch (error) {
    abandonPostmasters();
    if (error instanceof StartError || (error as Error).name === "KeyError") {
      throw new CliError((error as Error).message, 2);
    }
    throw error;
  }
}

/** Runs meta nodes where it leads. */
async function metaWorkers(
  { tasks, metaZones: zones }: Settings["server"],
  log: Log,
): Promise<StartOptions["beside"]> {
  if (tasks === undefined) return undefined;
  const { loadTasksFile, TasksFileError } = await import("../worker/index.ts");
  const { startMetaWorker } = await import("../embedded/index.ts");
  try {
    const handlers = await loadTasksFile(tasks);
    const warn = (message: string): void => log.warn(message);
    return ({ gateway }) => startMetaWorker(gateway, { handlers, zones, warn });
  } catch (error) {
    if (error instanceof TasksFileError) throw new UsageError(error.message);
    throw error;
  }
}

/** The ledger records a rate only where there is one. */
function withoutUnused({
  submitRate,
  submitRatePeriodMs,
  ...queue
}: Settings["queue"]): Partial<SchedulerConfig> {
  return submitRate === null ? queue : { ...queue, submitRate, submitRatePeriodMs };
}

function ownVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
