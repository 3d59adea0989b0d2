// The HTTP edge in front of a service, with keys of every kind, and a client that speaks to it.

import type { InjectOptions, RouteOptions } from "fastify";
import type { Api, Scope } from "../src/server/api.ts";
import { type AppOptions, buildApp } from "../src/server/http/app.ts";
import type { App } from "../src/server/http/route.ts";
import { Keys, type NewKey } from "../src/server/keys.ts";
import { makeLog } from "../src/server/log.ts";
import { type OpenService, openService, type ServiceSettings } from "../src/server/open-service.ts";
import { ServerSecret } from "../src/server/secret.ts";
import { Tickets } from "../src/server/tickets.ts";
import { MemoryStore, type ServiceStore } from "../src/store/index.ts";

export const ADMIN_KEY = "an-admin-key-of-tests-and-0123456789";
export const API = "/api/v2/scheduler";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what is in an answer is what the tests are about
  readonly body: any;
}

export interface Served {
  readonly app: App;
  /** All routes, in the order in which they were registered. */
  readonly routes: readonly RouteOptions[];
  readonly keys: Keys;
  readonly tickets: Tickets;
  /** Acts as another server of the store whose clock is wrong. */
  ticketsAt(now: () => number): Tickets;
  readonly service: OpenService;
  /** What the API does instead, for what a healthy service does not do. */
  readonly instead: Partial<Api>;
  /** As the admin, unless the headers say otherwise. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  secretOf(key: Partial<NewKey>): Promise<string>;
  close(): Promise<void>;
}

interface ServeOptions {
  readonly store?: ServiceStore;
  readonly answerWithinMs?: number;
  readonly remembered?: number;
  readonly settings?: Partial<ServiceSettings>;
}

/** The real service, in memory unless there is another store, behind the edge. */
export async function serve(
  log: string[] = [],
  { store = new MemoryStore(), answerWithinMs, remembered = 50_000, settings }: ServeOptions = {},
): Promise<Served> {
  const note = (line: string) => void log.push(line);
  const secret = ServerSecret.random();
  const keys = await Keys.open(store, { firstKey: ADMIN_KEY });
  const service = await openService({
    store,
    secret,
    keys,
    warn: note,
    onFailed: (error) => note(String(error.stack)),
    // Names lead to this machine, where nobody listens on the ports that they have by themselves.
    settings: {
      webhooks: { allow: ["127.0.0.0/8"], resolve: async () => ["127.0.0.1"] },
      remembered,
      ...settings,
    },
  });
  const ticketsAt = (now: () => number) =>
    new Tickets({ keys, store: store.tickets, record: (entry) => service.api.recordAudit(entry), now });
  const instead: Partial<Api> = {};
  const app = buildApp({
    api: replaceable(service.api, instead),
    gateway: service.gateway,
    schedules: service.schedules,
    keys,
    webhooks: service.webhooks,
    past: service.past,
    audit: store.audit,
    tickets: ticketsAt(Date.now),
    secret,
    version: "0.0.0",
    health: { notReady: () => undefined, info: () => ({ version: "0.0.0" }) },
    cluster: aloneOn(store),
    log: makeLog({ level: "warn", write: note }),
    ...(answerWithinMs !== undefined && { answerWithinMs }),
  });
  const routes: RouteOptions[] = [];
  app.addHook("onRoute", (route) => void routes.push(route));
  await app.ready();
  return {
    app,
    routes,
    keys,
    tickets: ticketsAt(Date.now),
    ticketsAt,
    service,
    instead,
    call: (method, path, body, headers = {}) => call(app, method, path, body, headers),
    secretOf: async (key) => {
      const scopes: Scope[] = ["submit", "read"];
      const standard = { name: "a-key", scopes, zones: ["*"], agents: ["*"], expiresAt: -1 };
      return (await keys.create({ ...standard, ...key })).secret;
    },
    close: async () => {
      await app.close();
      await keys[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** A server that shares its store with nobody. */
export function aloneOn(store: ServiceStore): AppOptions["cluster"] {
  return {
    status: async () => ({
      name: "test",
      leadership: await store.leadership(),
      leaseMs: 3_000,
      members: await store.members(),
    }),
    stepDown: async () => undefined,
  };
}

function replaceable(api: Api, instead: Partial<Api>): Api {
  return new Proxy(api, {
    get: (target, name: keyof Api) => instead[name] ?? target[name].bind(target),
  });
}

export function bearer(secret: string): Record<string, string> {
  return { authorization: `Bearer ${secret}` };
}

let calls = 0;

async function call(
  app: App,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answer> {
  const options: InjectOptions = {
    // Each request comes from an address of its own: too many wrong keys from one are refused.
    remoteAddress: `10.0.${(calls >> 8) & 255}.${calls++ & 255}`,
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
    body: isJson(answered) && text !== "" ? (JSON.parse(text) as unknown) : undefined,
  };
}

function isJson(headers: Answer["headers"]): boolean {
  return /\bjson\b/.test(String(headers["content-type"] ?? ""));
}
