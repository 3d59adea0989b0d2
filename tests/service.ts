// A service as its users meet it: the real server on a real port, on memory or on a real PostgreSQL.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { startLocalWorker } from "../src/embedded/index.ts";
import {
  makeLog,
  type OpenService,
  type RunningServer,
  type ServiceSettings,
  type StartOptions,
  startServer,
} from "../src/server/index.ts";
import { type Handlers, task } from "../src/worker/index.ts";
import { directoryWith } from "./cli.ts";
import { testDatabase } from "./postgres.ts";

export const BACKENDS = ["memory", "postgresql"] as const;
export type Backend = (typeof BACKENDS)[number];

export const ADMIN_KEY = "sk-test-admin-0123456789-and-0123456789";
const SECRET = "the secret that servers of tests share";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

export interface RequestOptions {
  readonly key?: string | null;
  readonly zone?: string;
  readonly agent?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class TestService implements AsyncDisposable {
  readonly server: RunningServer;
  readonly storeUrl: string;
  readonly #failures: Error[];

  private constructor(server: RunningServer, storeUrl: string, failures: Error[]) {
    this.server = server;
    this.storeUrl = storeUrl;
    this.#failures = failures;
  }

  static async start(
    backend: Backend,
    settings: Partial<ServiceSettings> = {},
    storeUrl?: string,
    limits: StartOptions["limits"] = {},
  ): Promise<TestService> {
    const url = storeUrl ?? (backend === "memory" ? "memory" : await freshDatabase());
    const failures: Error[] = [];
    const server = await startServer({
      host: "127.0.0.1",
      port: 0,
      strictPort: true,
      store: url,
      dataDir: await directoryWith({}),
      apiKey: ADMIN_KEY,
      secret: SECRET,
      version: "test",
      settings,
      limits,
      log: makeLog({ level: "error", write: (line) => process.stderr.write(line) }),
      onFailed: (error) => failures.push(error),
    });
    return new TestService(server, url, failures);
  }

  /** Stops it and starts it anew on the same store. */
  async restart(settings: Partial<ServiceSettings> = {}): Promise<TestService> {
    await this[Symbol.asyncDispose]();
    return await TestService.start("postgresql", settings, this.storeUrl);
  }

  async request(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Answer> {
    const { key = ADMIN_KEY, zone, agent, headers = {} } = options;
    const response = await fetch(
      `${this.server.url}${path.startsWith("/") ? path : `/api/v2/scheduler/${path}`}`,
      {
        method,
        headers: {
          ...(key !== null && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(zone !== undefined && { "x-zone-id": zone }),
          ...(agent !== undefined && { "x-agent-id": agent }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      },
    );
    const text = await response.text();
    const isJson = /\bjson\b/.test(response.headers.get("content-type") ?? "");
    const answered: unknown = isJson ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body: answered };
  }

  get(path: string, options?: RequestOptions): Promise<Answer> {
    return this.request("GET", path, undefined, options);
  }

  post(path: string, body?: unknown, options?: RequestOptions): Promise<Answer> {
    return this.request("POST", path, body, options);
  }

  put(path: string, body: unknown, options?: RequestOptions): Promise<Answer> {
    return this.request("PUT", path, body, options);
  }

  /** Submits a task that nobody serves, unless told otherwise. */
  submit(body: Readonly<Record<string, unknown>> = {}, options?: RequestOptions): Promise<Answer> {
    return this.post("submit", { executor: "nobody", task_type: "test_task", ...body }, options);
  }

  /** What is open while it leads. */
  get leading(): OpenService {
    if (!this.server.service) throw new Error("another server leads");
    return this.server.service;
  }

  worker(
    handlers: Handlers,
    options: { executors?: string[]; slots?: number; zone?: string } = {},
  ): AsyncDisposable {
    return startLocalWorker(this.leading.gateway, {
      handlers,
      executors: options.executors ?? ["default"],
      zone: options.zone ?? "default",
      ...(options.slots !== undefined && { slots: options.slots }),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    if (this.#failures[0]) throw this.#failures[0];
  }
}

/** Handlers that note the order in which they began, and end when they are told to. */
export function recordingHandler(): {
  readonly handlers: Handlers;
  readonly begun: string[];
  readonly release: () => void;
} {
  const begun: string[] = [];
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const note = task<{ name?: string; wait?: boolean }>(async ({ name = "", wait = false }) => {
    begun.push(name);
    if (wait) await gate;
    return name;
  });
  return { handlers: { note }, begun, release };
}

/** An empty database in the shared PostgreSQL. */
export async function freshDatabase(): Promise<string> {
  const { url } = await testDatabase();
  const name = `service_${randomUUID().replaceAll("-", "")}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return withDatabase(url, name);
}

/** The URL holds a folder of sockets, so it is no URL that `URL` would read. */
function withDatabase(url: string, name: string): string {
  const [base = "", query = ""] = url.split("?");
  return `${base.replace(/\/[^/]*$/, `/${name}`)}${query === "" ? "" : `?${query}`}`;
}
