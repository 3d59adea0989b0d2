// The HTTP edge in front of a service, with keys of every kind, and a client that speaks to it.

import type { InjectOptions } from "fastify";
import type { Api, KeyStore, Scope, WorkerGateway } from "../src/server/api.ts";
import { buildApp } from "../src/server/http/app.ts";
import type { App } from "../src/server/http/route.ts";
import { Keys, type NewKey } from "../src/server/keys.ts";
import type { ApiKeyRow } from "../src/store/index.ts";
import { MemoryService } from "./memory-service.ts";

export const ADMIN_KEY = "an-admin-key-of-tests";
export const API = "/api/v2/scheduler";

export class MemoryKeyStore implements KeyStore {
  readonly rows = new Map<string, ApiKeyRow>();
  readonly settings = new Map<string, string>();

  async apiKeys(): Promise<readonly ApiKeyRow[]> {
    return [...this.rows.values()];
  }

  async saveApiKey(key: ApiKeyRow): Promise<void> {
    this.rows.set(key.id, key);
  }

  async setting(name: string, initial: () => string): Promise<string> {
    const value = this.settings.get(name) ?? initial();
    this.settings.set(name, value);
    return value;
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what is in an answer is what the tests are about
  readonly body: any;
}

export interface Served {
  readonly app: App;
  readonly keys: Keys;
  readonly keyStore: KeyStore;
  /** As the admin, unless the headers say otherwise. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  secretOf(key: Partial<NewKey>): Promise<string>;
  close(): Promise<void>;
}

export interface Service {
  readonly api: Api;
  readonly gateway: WorkerGateway;
  readonly keyStore: KeyStore;
}

export function memoryService(): Service & { readonly memory: MemoryService } {
  const memory = new MemoryService();
  return { api: memory, gateway: memory, keyStore: new MemoryKeyStore(), memory };
}

export async function serve(service: Service, log: string[] = []): Promise<Served> {
  const keys = await Keys.open(service.keyStore, { firstKey: ADMIN_KEY });
  const app = buildApp({
    api: service.api,
    gateway: service.gateway,
    keys,
    version: "0.0.0",
    health: { notReady: () => undefined, info: () => ({ version: "0.0.0" }) },
    logTo: { write: (line) => void log.push(line) },
  });
  await app.ready();
  return {
    app,
    keys,
    keyStore: service.keyStore,
    call: (method, path, body, headers = {}) => call(app, method, path, body, headers),
    secretOf: async (key) => {
      const scopes: Scope[] = ["submit", "read"];
      const made = await keys.create({
        name: "a-key",
        scopes,
        zones: ["*"],
        agents: ["*"],
        expiresAt: -1,
        ...key,
      });
      return made.secret;
    },
    close: async () => {
      await app.close();
      await keys[Symbol.asyncDispose]();
    },
  };
}

export function bearer(secret: string): Record<string, string> {
  return { authorization: `Bearer ${secret}` };
}

async function call(
  app: App,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answer> {
  const options: InjectOptions = {
    method: method as "GET",
    url: path,
    headers: { ...bearer(ADMIN_KEY), ...headers },
  };
  if (body !== undefined) {
    options.payload = typeof body === "string" ? body : JSON.stringify(body);
    options.headers = { "content-type": "application/json", ...options.headers };
  }
  const { statusCode, headers: answered, body: text } = await app.inject(options);
  return {
    status: statusCode,
    headers: answered,
    text,
    body: isJson(text) ? (JSON.parse(text) as unknown) : undefined,
  };
}

function isJson(text: string): boolean {
  return text.startsWith("{") || text.startsWith("[");
}
