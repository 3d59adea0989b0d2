import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LEASE_MS } from "../cluster/index.ts";
import { invariant } from "../core/index.ts";
import { writeSecretFile } from "../files/index.ts";
import { type AuditRow, isAway, openServiceStore, type ServiceStore } from "../store/index.ts";
import type { ServerTls } from "../tls/index.ts";
import { type Address, Door, StartError } from "./door.ts";
import { type AppOptions, buildLocalApp } from "./http/app.ts";
import { EDGE_LIMITS, type EdgeLimits } from "./http/limits.ts";
import { Instruments } from "./http/metrics.ts";
import type { ClusterControl } from "./http/route.ts";
import { Keys } from "./keys.ts";
import { type Levels, levelsOf } from "./levels.ts";
import type { Log } from "./log.ts";
import { type OpenService, openService, type ServiceSettings } from "./open-service.ts";
import { PreparedApp } from "./prepared-app.ts";
import { openSecret } from "./secret.ts";
import { StoreWatch } from "./store-watch.ts";
import { STARTING, Terms } from "./terms.ts";
import { Tickets } from "./tickets.ts";

export interface StartOptions extends Address {
  /** The server's certificate. Without one it speaks plain HTTP. */
  readonly tls?: ServerTls | undefined;
  /** `memory`, a URL of PostgreSQL, or undefined for a private PostgreSQL in the data directory. */
  readonly store: string | undefined;
  readonly dataDir: string;
  /** Then nothing is kept elsewhere, or not at all, where that cannot be used. */
  readonly isDataDirGiven?: boolean;
  /** Where other servers on the same store find this one; by default its host and port. */
  readonly advertise?: string | undefined;
  /** After how much silence of the leader another server takes over. */
  readonly takeOverMs?: number;
  /** The first admin key. */
  readonly apiKey: string | undefined;
  /** What the servers of the store share; by default it is kept in a file of the data directory. */
  readonly secret?: string | undefined;
  /** Makes this server's secret the one of the store. */
  readonly isNewSecret?: boolean;
  readonly version: string;
  readonly settings: Partial<ServiceSettings>;
  /** Bounds per caller at the HTTP edge. */
  readonly limits?: Partial<EdgeLimits>;
  readonly log: Log;
  /** What runs beside the scheduler whenever this server leads, and ends before it does not lead any more. */
  readonly beside?: (service: OpenService) => AsyncDisposable;
  /** It cannot go on. */
  readonly onFailed: (error: Error) => void;
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly storeDescription: string;
  /** A key that was made because there was none, now or when the server was started first. */
  readonly devKey: DevKey | undefined;
  /** A link to the dashboard that lets one browser in, once; undefined while another server leads. */
  readonly dashboardLink: () => Promise<string | undefined>;
  /** While this server leads. */
  readonly service: OpenService | undefined;
  /** When it has stopped: whether something still waited for its store, and was let go. */
  readonly isLetGo: boolean;
  /** Uses another certificate for new connections. Only for a server that was started with one. */
  readonly renewTls: (tls: ServerTls) => void;
}

export interface DevKey {
  readonly secret: string;
  /** A file that only its owner can read. */
  readonly file: string;
  /** True if this start of the server has made the key. */
  readonly isNew: boolean;
}

/** Time limit, in ms, for closing what a failed start has opened. */
const CLOSE_WITHIN_MS = 10_000;

/** What has not ended this long after the server was told to stop waits for its store, and is let go. */
const LET_GO_AFTER_MS = 4_000;

/** Listens at once, and answers that it is not ready while it opens its store and recovers; then it leads or follows. */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const closers: (() => PromiseLike<unknown>)[] = [];
  let letGo = () => {};
  let isLetGo = false;
  const closeAll = async () => {
    const timer = setTimeout(() => letGo(), LET_GO_AFTER_MS);
    for (const close of closers.splice(0).reverse()) await close();
    clearTimeout(timer);
  };
  try {
    const door = new Door({ ...EDGE_LIMITS, ...options.limits }, options.tls);
    const port = await door.listen(options);
    closers.push(() => door.close());
    if (!options.tls && !isLoopback(options.host)) options.log.warn(IN_THE_CLEAR);
    const { store, dataDir, isDataDirGiven = false, log } = options;
    const opened = await openServiceStore({
      store,
      dataDir,
      isDataDirGiven,
      log: (message) => log.info(message),
      warn: (message) => log.warn(message),
    });
    closers.push(() => opened[Symbol.asyncDispose]());
    letGo = () => {
      isLetGo = true;
      void opened.store[Symbol.asyncDispose]();
    };
    const keys = await Keys.open(opened.store, {
      firstKey: options.apiKey,
      onAdded: (others) =>
        log.warn(
          `ORRERY_API_KEY is a key that was not known here: it was added, with all rights, beside ${others} that stay valid; see: orrery keys list`,
        ),
      onRefreshError: (error) => {
        if (!isAway(error)) log.warn(`keys could not be read again: ${(error as Error).message}`);
      },
    });
    closers.push(() => keys[Symbol.asyncDispose]());
    const devKey = await makeDevKey(keys, options);
    const secret = await openSecret({
      given: options.secret,
      dataDir,
      store: opened.store,
      isReplaced: options.isNewSecret ?? false,
    });
    let led = (): OpenService | undefined => undefined;
    const record = async (entry: AuditRow): Promise<void> => {
      const service = led();
      invariant(service, "only the server that leads issues and redeems tickets");
      await service.api.recordAudit(entry);
    };
    const tickets = new Tickets({ keys, store: opened.store.tickets, record });
    const terms = await serve(options, opened, { keys, secret, tickets }, door, port, closers);
    const url = urlOf(options, options.host, port);
    led = () => terms.service;
    return {
      url,
      port,
      storeDescription: opened.description,
      devKey,
      dashboardLink: async () => (led() ? `${url}/#ticket=${await tickets.issue()}` : undefined),
      get service() {
        return terms.service;
      },
      get isLetGo() {
        return isLetGo;
      },
      renewTls: (tls) => door.renew(tls),
      [Symbol.asyncDispose]: closeAll,
    };
  } catch (error) {
    // A start that failed must end, even if something that it began cannot be closed.
    await Promise.race([closeAll(), sleep(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    throw error;
  }
}

async function serve(
  options: StartOptions,
  { store, isShared }: { readonly store: ServiceStore; readonly isShared: boolean },
  credentials: Pick<AppOptions, "keys" | "secret" | "tickets">,
  door: Door,
  port: number,
  closers: (() => PromiseLike<unknown>)[],
): Promise<Terms> {
  const { version, settings, log, takeOverMs = LEASE_MS } = options;
  const { keys, secret } = credentials;
  const warn = (message: string) => log.warn(message);
  let failure: Error | undefined;
  let terms: Terms | undefined;
  const watch = new StoreWatch(store);
  const instruments = new Instruments({ version, levels: () => levelsNow(terms?.service) });
  const { connections } = door;
  connections.onLimited = (limit) => instruments.limited(limit);
  instruments.held.add(() => {
    const { client, worker, unknown } = connections.counts;
    return { client_connections: client, worker_connections: worker, unknown_connections: unknown };
  });
  closers.push(async () => {
    watch[Symbol.dispose]();
    instruments.close();
  });
  const cluster: ClusterControl = {
    status: () => (terms as Terms).status(),
    stepDown: () => (terms as Terms).stepDown(),
  };
  const common: Omit<AppOptions, "api" | "gateway" | "schedules" | "webhooks" | "past"> = {
    ...credentials,
    audit: store.audit,
    instruments,
    ...(options.limits && { limits: options.limits }),
    version,
    cluster,
    log,
    health: {
      notReady: () => failure?.message ?? watch.trouble() ?? (terms ? terms.notReady() : STARTING),
      isStarting: () => failure === undefined && watch.trouble() === undefined,
      storeTrouble: () => watch.trouble(),
      info: () => ({ version, store: store.backend, role: terms?.role }),
    },
  };
  const local = buildLocalApp(common);
  closers.push(() => local.close());
  await local.ready();
  const name = `${hostname()}:${port}`;
  terms = new Terms({
    store,
    isShared,
    leaseMs: takeOverMs,
    name,
    // One life of one process: whoever comes back under the same name is another one.
    holder: `${name}/${randomBytes(4).toString("hex")}`,
    url: options.advertise ?? urlOf(options, isAnywhere(options.host) ? hostname() : options.host, port),
    door,
    keys,
    local,
    prepare: () => PreparedApp.make(common),
    open: (term, onFailed) =>
      openService({ store, term, settings, secret, keys, instruments, warn, onFailed }),
    beside: options.beside,
    warn,
    onFailed: (error) => {
      failure = error;
      options.onFailed(error);
    },
  });
  const made = terms;
  closers.push(() => made[Symbol.asyncDispose]());
  await made.ready;
  return made;
}

const IN_THE_CLEAR =
  "this server can be reached from other machines without TLS: keys, payloads and results cross the network in clear text; set --tls-cert and --tls-key, or let only a proxy with TLS reach it (docs/operations.md)";

async function levelsNow(service: OpenService | undefined): Promise<Levels | undefined> {
  return await service?.driver.read((state) => levelsOf(state, service.driver.now()));
}

function urlOf({ tls }: StartOptions, host: string, port: number): string {
  return `${tls ? "https" : "http"}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Listening everywhere is no address that others could use. */
function isAnywhere(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** Makes a key if there is none, and keeps it with the data. Then only this machine may use the server. */
async function makeDevKey(keys: Keys, { host, apiKey, dataDir }: StartOptions): Promise<DevKey | undefined> {
  if (apiKey !== undefined) return undefined;
  const file = join(dataDir, "dev-key");
  const kept = (await readFile(file, "utf8").catch(() => "")).trim();
  if (kept !== "" && isLoopback(host) && keys.find(kept)) return { secret: kept, file, isNew: false };
  if (keys.all().length > 0) return undefined;
  if (!isLoopback(host)) {
    throw new StartError(
      `to listen on ${host} the server needs a key: set ORRERY_API_KEY, or make one with "orrery keys create"`,
    );
  }
  const { secret } = await keys.create({
    name: "dev",
    scopes: ["submit", "read", "work", "admin", "operator"],
    zones: ["*"],
    agents: ["*"],
    expiresAt: -1,
  });
  try {
    await writeSecretFile(file, secret, "replace");
  } catch (cause) {
    const why = (cause as Error).message;
    throw new StartError(
      `the key that was made cannot be kept: ${why}; choose another --data, or set ORRERY_API_KEY`,
    );
  }
  return { secret, file, isNew: true };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
