import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Log, makeLog, type RunningServer, StartError, startServer } from "../server/index.ts";
import { isNetwork, type WebhookSettings } from "../webhooks/index.ts";
import { CliError, UsageError } from "./errors.ts";
import { printJson, printLines } from "./output.ts";
import type { ServeOptions } from "./serve.ts";
import { readServerConfig } from "./server-config.ts";
import { untilSignal } from "./server-signals.ts";
import { telemetryFor } from "./telemetry.ts";

const DAY_MS = 86_400_000;
const MAX_WAIT_S = 30 * 86_400;

/** Serves until it is told to stop: the first signal closes in order, the second ends at once. */
export async function runServer(options: ServeOptions): Promise<void> {
  const log = makeLog({
    level: options.logLevel,
    isHuman: process.stderr.isTTY,
    write: (line) => process.stderr.write(line),
  });
  // What Node warns of is a line like any other.
  process.removeAllListeners("warning").on("warning", ({ name, message }) => log.warn(`${name}: ${message}`));
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<Error>((done) => {
    fail = done;
  });
  const stopped = untilSignal(log);
  await using _telemetry = await telemetryFor(options, "orrery-server");
  const server = await start(options, log, fail);
  let demo: AsyncDisposable | undefined;
  let failure: Error | undefined;
  try {
    if (options.demo) demo = await (await import("./server-demo.ts")).startDemo(server);
    await announce(server, options);
    log.info("serving", { url: server.url, store: server.storeDescription, version: ownVersion() });
    const ended = await Promise.race([stopped, failed]);
    if (ended instanceof Error) failure = ended;
  } finally {
    if (!failure) await demo?.[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  }
  if (failure) throw new CliError(`the server has stopped: ${failure.message}`, 1);
  log.info("stopped");
}

async function start(
  options: ServeOptions,
  log: Log,
  onFailed: (error: Error) => void,
): Promise<RunningServer> {
  const { host, port, strictPort, store, order, fairShare, prefetch, lease, keepEnded, config } = options;
  const webhooks = webhookSettings(options);
  const { advertise, takeover } = options;
  const retention = { logsMs: 7 * DAY_MS, idempotencyMs: DAY_MS };
  try {
    return await startServer({
      host,
      port,
      strictPort,
      store,
      dataDir: resolve(options.data),
      advertise,
      takeOverMs: takeover * 1000,
      apiKey: process.env["ORRERY_API_KEY"] || undefined,
      version: ownVersion(),
      settings: {
        config: {
          ...(config !== undefined && (await readServerConfig(config))),
          // What is said on the line goes before what a file says.
          ...(order && { order }),
          ...(fairShare !== undefined && { fairShare }),
          ...(prefetch !== undefined && { maxQueuePerWorker: prefetch }),
        },
        leaseMs: lease * 1000,
        webhooks,
        retention: { ...retention, endedTasksMs: keepEnded === undefined ? null : keepEnded * DAY_MS },
      },
      log,
      onFailed,
    });
  } catch (error) {
    if (error instanceof StartError || (error as Error).name === "KeyError") {
      throw new CliError((error as Error).message, 2);
    }
    throw error;
  }
}

function webhookSettings(options: ServeOptions): Partial<WebhookSettings> {
  const { allowHttpWebhooks, webhookAllow = [], webhookWaits } = options;
  const wrong = webhookAllow.find((text) => !isNetwork(text));
  if (wrong !== undefined)
    throw new UsageError(`--webhook-allow ${wrong} is no network; one looks like 10.0.0.0/8 or fd00::/8`);
  return {
    allowHttp: allowHttpWebhooks,
    allow: webhookAllow,
    ...(webhookWaits !== undefined && { waitsMs: waitsOf(webhookWaits) }),
  };
}

function waitsOf(text: string): number[] {
  const waits = text.split(",").map((one) => (one.trim() === "" ? Number.NaN : Number(one)));
  if (waits.every((seconds) => seconds >= 0 && seconds <= MAX_WAIT_S)) return waits.map((one) => one * 1000);
  throw new UsageError(`--webhook-waits must be seconds with commas between, such as 5,300; got ${text}`);
}

function ownVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

async function announce(server: RunningServer, options: ServeOptions): Promise<void> {
  const { url, storeDescription, devKey } = server;
  const readyMs = Math.round(performance.now());
  if (options.json) {
    await printJson({
      version: ownVersion(),
      url,
      store: storeDescription,
      role: server.service ? "leader" : "follower",
      key: devKey ?? null,
      readyMs,
      pid: process.pid,
    });
    return;
  }
  const isMoved = options.port !== 0 && server.port !== options.port;
  const key = devKey ?? "$ORRERY_API_KEY";
  const header = `-H "Authorization: Bearer ${key}"`;
  await printLines([
    `orrery ${ownVersion()}, ready after ${(readyMs / 1000).toFixed(1)} s`,
    `  url    ${url}   documentation: ${url}/docs`,
    ...(isMoved
      ? [`         port ${options.port} is taken; for other commands: export ORRERY_URL=${url}`]
      : []),
    `  key    ${devKey ?? "$ORRERY_API_KEY, or one that you made"}`,
    `  store  ${storeDescription}`,
    ...(server.service ? [] : ["  role   follower: another server leads, and gets what is asked here"]),
    ...(options.demo ? [] : ["  no worker yet: orrery worker --tasks FILE"]),
    `try: curl -sd '{"executor":"default","task_type":"echo","payload":{"hello":"world"}}' \\`,
    `       ${header} -H 'Content-Type: application/json' ${url}/api/v2/scheduler/submit`,
    `     and for its result, with the id of the answer: curl -s ${header} ${url}/api/v2/scheduler/task/ID?wait=10`,
  ]);
}
