// Objects of the zone and agent that the authorization matrix is about, and one valid request for each route.

import { setTimeout } from "node:timers/promises";
import type { RouteOptions } from "fastify";
import type { PollAnswer } from "../src/protocol/api-schemas.ts";
import { ADMIN_KEY, type Answer, API, bearer, type Served } from "./http-app.ts";
import { ANN, type MatrixCaller, ZONE } from "./matrix-callers.ts";

/**
 * Callers who may see the object that a path names:
 * - "agent": its agent, and the admins of its zone
 * - "zone": everybody of its zone whom the route admits
 * - "key": admins of its zone whose key allows the agents of the key
 * - "session": the key that registered the worker
 * - "name": everybody; the name stands for an object of the caller's own zone
 */
export type Visibility = "agent" | "zone" | "key" | "session" | "name";

export interface MatrixRequest {
  readonly url: string;
  /** The same request for an object that does not exist. */
  readonly missingUrl: string;
  readonly visibility: Visibility | undefined;
  body(caller: MatrixCaller): unknown;
}

interface Target {
  readonly visibility: Visibility;
  /** Values of the parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** The session of a worker. */
  readonly session?: string;
  readonly task?: string;
}

/** Strings in names and contents of the objects. An agent's marks are for the agent and admins, a zone's marks for its zone. */
export const AGENT_MARKS = ["payload", "node", "graph", "schedule", "key", "text", "result"].map(
  (what) => `ann-secret-${what}`,
);
export const ZONE_MARKS = ["executor", "type", "worker", "hook", "zone"].map((what) => `zone-secret-${what}`);

type Make = (objects: MatrixObjects) => Target | Promise<Target>;

const MISSING = "00000000-0000-7000-8000-000000000000";
const EXECUTOR = "zone-secret-executor";
const TYPE = "zone-secret-type";
/** Other zones may have a limit of this name as well. */
const LIMIT = "a-limit";
const SECRET_TEXT = "ann-secret-text";
const heartbeat = { attempts: [] };

/** Makes the object that a route is about, by the first pattern that fits the route. */
const TARGETS: readonly (readonly [route: RegExp, make: Make])[] = [
  [/\/task\/:id\/(cancel|clone)$/, (all) => all.task({ executor: "nobody" })],
  [/\/task\/:id\/retry$/, (all) => all.cancelledTask()],
  [/\/task\/:id\/recharge$/, (all) => all.runningTask()],
  [/\/task\/:id\/log$/, (all) => all.loggedTask()],
  [/\/task\/:id/, (all) => all.completedTask()],
  [/\/runs\/:id\/cancel$/, (all) => all.run()],
  [/\/runs\/:id/, (all) => all.completedRun()],
  [/\/schedules\/:id/, (all) => all.schedule()],
  [/\/webhooks\/:id/, (all) => all.webhook()],
  [/\/keys\/:id/, (all) => all.key()],
  [/\/(agents\/:agent|limits\/:name)/, () => ({ visibility: "name", params: { agent: ANN, name: LIMIT } })],
  [/\/workers\/:id/, async (all) => ({ ...(await all.worker()), visibility: "zone" })],
  [/^\/worker\/:id/, (all) => all.worker()],
  [/^\/assets\/:name/, (all) => all.asset()],
];

const LISTS = ["/tasks?limit=1000", "/runs?limit=1000", "/schedules", "/webhooks", "/limits", "/agents"];
/** Fields that change without a request, for example because nobody receives the webhooks. */
const VOLATILE: ReadonlySet<string> = new Set(["effective_tier", "next", "next_times", "failing_since"]);

type Body = (caller: MatrixCaller, target: Target, objects: MatrixObjects) => unknown;

/** Bodies and queries for which the smallest value of the schema will not do. They name no object, because answers may repeat them. */
const REQUESTS: Readonly<Record<string, { readonly query?: () => string; readonly body?: Body }>> = {
  [`GET ${API}/ledger/at`]: { query: () => `?time=${new Date().toISOString()}` },
  [`POST ${API}/runs`]: { body: () => ({ graph: { nodes: { n: { task: "t", executor: "nobody" } } } }) },
  [`POST ${API}/submit/batch`]: { body: () => ({ tasks: [{ executor: "nobody", task_type: "t" }] }) },
  [`POST ${API}/task/:id/recharge`]: { body: () => ({ ops: 1 }) },
  [`POST ${API}/what-if`]: { body: () => ({ changes: [] }) },
  [`POST ${API}/schedules`]: {
    body: () => ({ name: "s", cron: YEARLY, task: { executor: "nobody", task_type: "t" } }),
  },
  [`POST ${API}/webhooks`]: { body: () => ({ url: "https://example.com/hook" }) },
  [`POST ${API}/keys`]: {
    body: ({ zone, agents }) => ({ name: "k", scopes: ["read"], zones: [zone], agents }),
  },
  [`POST ${API}/session`]: { body: async (_, __, { served }) => ({ ticket: await served.tickets.issue() }) },
  "POST /worker/register": {
    body: (_, __, all) => ({ registration: registrationOf(all.nextName("w"), "nobody"), heartbeat }),
  },
  "POST /worker/:id/poll": { body: (_, { session }) => ({ session, heartbeat }) },
  "POST /worker/:id/report": {
    body: (_, { session, task }) => ({
      session,
      report: { type: "finished", task, attempt: 1, started_at: 1, result: 1 },
    }),
  },
  "POST /worker/:id/log": { body: (_, { session, task }) => ({ session, entries: [lineOf(task)] }) },
  "POST /worker/:id/progress": {
    body: (_, { session, task }) => ({ session, progress: { task, attempt: 1, fraction: 0.5 } }),
  },
  "POST /worker/:id/drain": { body: (_, { session }) => ({ session }) },
  "POST /worker/:id/leave": { body: (_, { session }) => ({ session }) },
};

const YEARLY = "0 0 1 1 *";

export class MatrixObjects {
  readonly served: Served;
  /** Ids of objects that only their agent and admins may see. */
  readonly agentIds = new Set<string>();
  /** Ids of objects that only their zone may see. */
  readonly zoneIds = new Set<string>();
  /** Marks that were in answers to callers who may see them. */
  readonly shown = new Set<string>();
  readonly #workerHeaders: Readonly<Record<string, string>>;
  #names = 0;

  constructor(served: Served, worker: MatrixCaller) {
    this.served = served;
    this.#workerHeaders = worker.headers;
  }

  /** Makes an object of each kind, so that lists and streams have objects to hide from the first request on. */
  async begin(): Promise<void> {
    await this.#asAdmin("PUT", `/limits/${LIMIT}`, { concurrency: 7 });
    await this.#asAdmin("PUT", `/agents/${ANN}`, { max_concurrent: 700 });
    await this.task({ limits: [LIMIT] });
    await this.runningTask();
    await this.completedTask();
    await this.completedRun();
    await this.schedule();
    await this.webhook();
    await this.key();
  }

  /** Returns a valid request for a route, about objects that are new. */
  async request({ method, url, schema = {} }: RouteOptions): Promise<MatrixRequest> {
    const made = TARGETS.find(([route]) => route.test(url))?.[1];
    if (!made && url.includes(":"))
      throw new Error(`no object is made for the route ${url}; add it to TARGETS`);
    const target = await made?.(this);
    const { query, body } = REQUESTS[`${method} ${url}`] ?? {};
    const filled = (params: Readonly<Record<string, string>>) =>
      url.replace(/:(\w+)/g, (_, name: string) => params[name] ?? MISSING).replace("*", "x") +
      (query?.() ?? "");
    const fallback = schema.body === undefined ? undefined : smallest(schema.body as Schema);
    return {
      url: filled(target?.params ?? {}),
      missingUrl: filled({}),
      visibility: target?.visibility,
      body: (caller) => (body ? body(caller, target as Target, this) : fallback),
    };
  }

  nextName(start: string): string {
    return `${start}-${++this.#names}`;
  }

  async task(more: object = {}): Promise<Target> {
    const task = { executor: EXECUTOR, task_type: TYPE, payload: { is: "ann-secret-payload" }, ...more };
    return this.#ofAgent({ id: idIn(await this.#asAnn("POST", "/submit", task)) });
  }

  async cancelledTask(): Promise<Target> {
    const task = await this.task({ executor: "nobody" });
    await this.#asAnn("POST", `/task/${task.params["id"]}/cancel`);
    return task;
  }

  async runningTask(): Promise<Target> {
    const { session, params } = await this.worker();
    const task = await this.task({ executor: executorOf(params["id"]), budget: { ops: 10 } });
    await this.#work(params["id"], "poll?wait=10", { session, heartbeat });
    const progress = { task: task.params["id"], attempt: 1, fraction: 0.5, message: SECRET_TEXT };
    await this.#work(params["id"], "progress", { session, progress });
    return task;
  }

  /** A task whose lines are kept already. The service gathers lines first. */
  async loggedTask(): Promise<Target> {
    const task = await this.completedTask();
    while (!(await this.#asAnn("GET", `/task/${task.params["id"]}/log`)).text.includes(SECRET_TEXT))
      await setTimeout(20);
    return task;
  }

  async completedTask(): Promise<Target> {
    const worker = await this.worker();
    const task = await this.task({ executor: executorOf(worker.params["id"]) });
    await this.#complete(worker);
    return task;
  }

  async run(executor = "nobody"): Promise<Target> {
    const node = "ann-secret-node";
    const graph = { name: "ann-secret-graph", nodes: { [node]: { task: TYPE, executor } } };
    return this.#ofAgent({ id: idIn(await this.#asAnn("POST", "/runs", { graph })), node });
  }

  async completedRun(): Promise<Target> {
    const worker = await this.worker();
    const run = await this.run(executorOf(worker.params["id"]));
    await this.#complete(worker);
    return run;
  }

  async schedule(): Promise<Target> {
    const task = { executor: "nobody", task_type: TYPE, payload: { is: "ann-secret-payload" } };
    const schedule = { name: "ann-secret-schedule", cron: YEARLY, task };
    return this.#ofAgent({ id: idIn(await this.#asAnn("POST", "/schedules", schedule)) });
  }

  async webhook(): Promise<Target> {
    const url = "https://zone-secret-hook.example/in";
    const id = idIn(await this.#asAdmin("POST", "/webhooks", { url }));
    const delivery = idIn(await this.#asAdmin("POST", `/webhooks/${id}/test`));
    this.zoneIds.add(id).add(delivery);
    return { visibility: "zone", params: { id, delivery } };
  }

  async key(): Promise<Target> {
    const key = { name: "ann-secret-key", scopes: ["read"], zones: [ZONE], agents: [ANN] };
    const id = idIn(await this.#asAdmin("POST", "/keys", key));
    this.agentIds.add(id);
    return { visibility: "key", params: { id } };
  }

  /** A worker that serves an executor of its own and has no task. */
  async worker(): Promise<Target> {
    const id = this.nextName("zone-secret-worker");
    const registration = registrationOf(id, executorOf(id));
    await this.#work(undefined, "register", { registration, heartbeat });
    return { visibility: "session", params: { id }, session: registration.session, task: MISSING };
  }

  async asset(): Promise<Target> {
    const page = await this.served.call("GET", "/");
    const name = /\/assets\/([^"]+)"/.exec(page.text)?.[1] ?? "";
    return { visibility: "name", params: { name } };
  }

  /** What the owner sees of the objects that other callers must not change. */
  async seen(): Promise<string> {
    const answers = await Promise.all(LISTS.map((list) => this.#asAdmin("GET", list)));
    const keys = this.served.keys.all().filter(({ id }) => this.agentIds.has(id));
    return JSON.stringify([keys, ...answers.map(({ body }) => body as unknown)], (name, value: unknown) =>
      VOLATILE.has(name) ? undefined : value,
    );
  }

  #ofAgent(params: Readonly<Record<string, string>>): Target {
    this.agentIds.add(params["id"] ?? "");
    return { visibility: "agent", params };
  }

  /** Has a worker print and finish the one task that it gets. */
  async #complete({ params, session }: Target): Promise<void> {
    const worker = params["id"];
    const polled = await this.#work(worker, "poll?wait=10", { session, heartbeat });
    const [given] = (polled.body as PollAnswer).assignments;
    if (!given) throw new Error(`the worker ${worker} got no task`);
    const { task, attempt } = given;
    await this.#work(worker, "log", { session, entries: [lineOf(task, SECRET_TEXT)] });
    const report = { type: "finished", task, attempt, started_at: 1, result: "ann-secret-result" };
    await this.#work(worker, "report", { session, report });
  }

  async #work(id: string | undefined, what: string, body: object): Promise<Answer> {
    const path = id === undefined ? `/worker/${what}` : `/worker/${id}/${what}`;
    return demand(await this.served.call("POST", path, body, { ...this.#workerHeaders }));
  }

  async #asAnn(method: string, path: string, body?: object): Promise<Answer> {
    return this.#asAdmin(method, path, body, { "x-agent-id": ANN });
  }

  async #asAdmin(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const as = { ...bearer(ADMIN_KEY), "x-zone-id": ZONE, ...headers };
    return demand(await this.served.call(method, API + path, body, as));
  }
}

function idIn({ body }: Answer): string {
  return (body as { readonly id: string }).id;
}

function demand(answer: Answer): Answer {
  if (answer.status >= 300) throw new Error(`an object was not made: ${answer.status} ${answer.text}`);
  return answer;
}

function executorOf(worker = ""): string {
  return `${EXECUTOR} of ${worker}`;
}

function registrationOf(id: string, executor: string) {
  const session = `session-of-${id}`;
  const sizes = { cpu_millicores: 1000, memory_bytes: 0, slots: 1 };
  return { protocol: 1, id, session, executors: [executor], types: [TYPE], ...sizes };
}

function lineOf(task: string | undefined, text = "a line") {
  return { task, attempt: 1, at: 1, stream: "stdout", text };
}

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
}

/** Returns a value of a schema with nothing in it that may be left out. */
function smallest(schema: Schema): unknown {
  const [first] = schema.examples ?? schema.enum ?? [schema.const];
  if (first !== undefined) return first;
  if (schema.anyOf?.[0]) return smallest(schema.anyOf[0]);
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, smallest(schema.properties?.[name] ?? {})]),
      );
    case "array":
      return [];
    case "string":
      return "a-string";
    case "boolean":
      return false;
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    default:
      return null;
  }
}
