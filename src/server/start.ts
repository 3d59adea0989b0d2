import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { join } from "node:path";
import { openServiceStore, StoreError } from "../store/index.ts";
import { buildApp } from "./http/app.ts";
import { Instruments } from "./http/metrics.ts";
import { Keys } from "./keys.ts";
import { levelsOf } from "./levels.ts";
import { type OpenService, openService, type ServiceSettings } from "./open-service.ts";
import { StoreWatch } from "./store-watch.ts";

export interface StartOptions {
  readonly host: string;
  readonly port: number;
  /** Fail when the port is taken, instead of taking the next free one. */
  readonly strictPort: boolean;
  /** `memory`, a URL of PostgreSQL, or undefined for a private PostgreSQL in the data directory. */
  readonly store: string | undefined;
  readonly dataDir: string;
  /** The first admin key. */
  readonly apiKey: string | undefined;
  readonly version: string;
  readonly settings: Partial<ServiceSettings>;
  readonly logLevel?: "debug" | "info" | "warn" | "error" | "silent";
  readonly warn: (message: string) => void;
  /** It cannot go on. */
  readonly onFailed: (error: Error) => void;
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly storeDescription: string;
  /** A key that was made because there was none, now or when it was started first. */
  readonly devKey: string | undefined;
  readonly service: OpenService;
}

/** The server cannot start as asked; the message says what to change. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** How many ports are tried. */
const PORTS_TRIED = 20;

/** What has not ended this long after the server was told to stop waits for its store, and is let go. */
const LET_GO_AFTER_MS = 4_000;

/** Listens at once, and answers that it is not ready while it opens its store and recovers; then it serves. */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const closers: (() => PromiseLike<unknown>)[] = [];
  const stopping = new AbortController();
  let letGo = () => {};
  const closeAll = async () => {
    stopping.abort();
    const timer = setTimeout(() => letGo(), LET_GO_AFTER_MS);
    for (const close of closers.splice(0).reverse()) await close();
    clearTimeout(timer);
  };
  try {
    const door = new Door();
    const port = await door.listen(options);
    closers.push(() => door.close());
    const opened = await openServiceStore(options);
    closers.push(() => opened[Symbol.asyncDispose]());
    letGo = () => void opened.store[Symbol.asyncDispose]();
    const keys = await Keys.open(opened.store, {
      firstKey: options.apiKey,
      onRefreshError: (error) => options.warn(`keys could not be read again: ${(error as Error).message}`),
    });
    closers.push(() => keys[Symbol.asyncDispose]());
    const devKey = await makeDevKey(keys, options);
    const { service, app } = await serve(options, opened.store, keys, door, stopping.signal);
    closers.push(() => service[Symbol.asyncDispose]());
    closers.push(() => app.close());
    return {
      url: `http://${isIP(options.host) === 6 ? `[${options.host}]` : options.host}:${port}`,
      port,
      storeDescription: opened.description,
      devKey,
      service,
      [Symbol.asyncDispose]: closeAll,
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

async function serve(
  options: StartOptions,
  store: Awaited<ReturnType<typeof openServiceStore>>["store"],
  keys: Keys,
  door: Door,
  stopping: AbortSignal,
): Promise<{ service: OpenService; app: ReturnType<typeof buildApp> }> {
  let failure: Error | undefined;
  const fail = (error: Error) => {
    if (failure || stopping.aborted) return;
    failure = error;
    options.onFailed(error);
  };
  let current: OpenService | undefined;
  const instruments = new Instruments({
    version: options.version,
    levels: async () => current?.driver.read((state) => levelsOf(state, current?.driver.now() ?? state.now)),
  });
  const service = await openService({
    store,
    settings: options.settings,
    instruments,
    warn: options.warn,
    onFailed: fail,
  });
  current = service;
  const watch = new StoreWatch(store, service.driver, () =>
    fail(new StoreError("locked", "another server has taken over this store")),
  );
  stopping.addEventListener("abort", () => watch[Symbol.dispose]());
  const app = buildApp({
    api: service.api,
    gateway: service.gateway,
    keys,
    webhooks: service.webhooks,
    instruments,
    version: options.version,
    serverFactory: (handler) => door.open(handler),
    ...(options.logLevel && { logLevel: options.logLevel }),
    health: {
      notReady: () => failure?.message ?? (watch.isReachable ? undefined : "the store cannot be reached"),
      info: () => ({ version: options.version, store: store.backend }),
    },
  });
  await app.ready();
  door.isReady = true;
  return { service, app };
}

/** Without any key one is made and kept with the data, and then only this machine may use it. */
async function makeDevKey(keys: Keys, { host, apiKey, dataDir }: StartOptions): Promise<string | undefined> {
  if (apiKey !== undefined) return undefined;
  const file = join(dataDir, "dev-key");
  const kept = await readFile(file, "utf8").catch(() => "");
  if (kept !== "" && isLoopback(host) && keys.find(kept)) return kept;
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
  await mkdir(dataDir, { recursive: true });
  await writeFile(file, secret, { mode: 0o600 });
  return secret;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The listening socket, from the first moment on. */
class Door {
  isReady = false;
  readonly #server: Server;
  #handler: RequestListener | undefined;

  constructor() {
    this.#server = createServer((request, response) => {
      if (this.#handler && this.isReady) this.#handler(request, response);
      else answerStarting(request.url ?? "", response);
    });
  }

  /** The port asked for, or the next one that is free. */
  async listen({ host, port, strictPort }: StartOptions): Promise<number> {
    for (let tried = port; ; tried++) {
      try {
        return await this.#listenOn(host, tried);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        const mayTryNext =
          code === "EADDRINUSE" && !strictPort && port !== 0 && tried + 1 < port + PORTS_TRIED;
        if (!mayTryNext) throw new StartError(whyNot(code, host, tried));
      }
    }
  }

  open(handler: RequestListener): Server {
    this.#handler = handler;
    return this.#server;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #listenOn(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const server = this.#server;
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve((server.address() as AddressInfo).port);
      });
    });
  }
}

function whyNot(code: string | undefined, host: string, port: number): string {
  if (code === "EADDRINUSE") return `port ${port} is taken; choose another with --port`;
  if (code === "EACCES")
    return `port ${port} may not be used by this user; choose one above 1023 with --port`;
  return `cannot listen on ${host} port ${port}: ${code}`;
}

function answerStarting(url: string, response: Parameters<RequestListener>[1]): void {
  const isAlive = url.split("?")[0] === "/livez";
  const problem = {
    type: "/problems/unavailable",
    title: "The server is starting",
    status: 503,
    code: "unavailable",
    detail: "the server opens its store and recovers; try again in a moment",
    request_id: randomUUID(),
  };
  response.writeHead(isAlive ? 200 : 503, {
    "content-type": isAlive ? "application/json" : "application/problem+json",
    "retry-after": "1",
  });
  response.end(JSON.stringify(isAlive ? { status: "ok" } : problem));
}
